import { nativeStatus } from 'wafstate';

/** Says once what the tests run on: they pass without the addon too, and a reader must not be left guessing. */
export default function tellImplementation(): void {
  const { loaded, path, reason } = nativeStatus();
  process.stdout.write(
    loaded
      ? `tests run on the C++ addon, ${path}, and on TypeScript\n`
      : `tests run on TypeScript only: ${reason}\n`,
  );
}
