export class WriterProcess {
  constructor(
    setup: { readonly open: object; readonly journals: string; readonly lanes: number },
    environment: Readonly<Record<string, string | undefined>>,
  );
  says(message: 'ready' | 'open' | 'paused'): Promise<boolean>;
  send(message: 'pause' | { readonly type: 'write'; readonly names: readonly string[] }): void;
  readonly ended: Promise<unknown>;
  kill(): void;
}
