import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const BUILT = join(ROOT, 'build', 'Release', 'wafstate.node');

/** The loader as a new process would have it, under that setting. */
async function loader(setting: string | undefined) {
  vi.resetModules();
  vi.stubEnv('WAFSTATE_NATIVE', setting);
  return { ...(await import('../../src/record/addon.js')), ...(await import('../../src/record/codec.js')) };
}

afterEach(() => {
  vi.unstubAllEnvs();
});

describe('the addon loader', () => {
  it('takes the local build where there is one, and says from where', async () => {
    const { nativeStatus, recordCodec } = await loader(undefined);
    const status = nativeStatus();
    if (existsSync(BUILT)) expect(status).toEqual({ loaded: true, path: BUILT });
    else expect(status.reason).toContain(`${BUILT}: no such file`);
    expect(recordCodec().implementation).toBe(status.loaded ? 'native' : 'typescript');
  });

  it('loads nothing with WAFSTATE_NATIVE=0', async () => {
    const { nativeStatus, loadAddon, recordCodec } = await loader('0');
    expect(nativeStatus()).toEqual({ loaded: false, reason: 'WAFSTATE_NATIVE=0' });
    expect(loadAddon()).toBeUndefined();
    expect(recordCodec().implementation).toBe('typescript');
  });

  it('refuses a setting that it does not know, and names those it does', async () => {
    const { loadAddon } = await loader('yes');
    expect(() => loadAddon()).toThrowError(/WAFSTATE_NATIVE must be 0, auto or require, got 'yes'/);
  });
});

/** The loader's folder layout without an addon in it, or with one that is none. */
describe('a package without a working addon', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'wafstate-addon-'));
    mkdirSync(join(folder, 'src', 'record'), { recursive: true });
    cpSync(join(ROOT, 'src', 'record', 'addon.ts'), join(folder, 'src', 'record', 'addon.ts'));
    cpSync(join(ROOT, 'src', 'contract'), join(folder, 'src', 'contract'), { recursive: true });
    mkdirSync(join(folder, 'build', 'Release'), { recursive: true });
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  async function copied(setting: string): Promise<typeof import('../../src/record/addon.js')> {
    vi.resetModules();
    vi.stubEnv('WAFSTATE_NATIVE', setting);
    return import(pathToFileURL(join(folder, 'src', 'record', 'addon.ts')).href);
  }

  it('names every file that it looked for', async () => {
    const { nativeStatus } = await copied('auto');
    expect(nativeStatus().loaded).toBe(false);
    expect(nativeStatus().reason).toMatch(
      /build.Release.wafstate\.node: no such file; .*prebuilds.*wafstate\.node: no such file/,
    );
  });

  it('says what is wrong with a file that does not load', async () => {
    writeFileSync(join(folder, 'build', 'Release', 'wafstate.node'), 'not a library');
    const { nativeStatus, loadAddon } = await copied('auto');
    expect(nativeStatus().loaded).toBe(false);
    expect(nativeStatus().reason).toMatch(/build.Release.wafstate\.node: (?!no such file)/);
    expect(loadAddon()).toBeUndefined();
  });

  it('fails with WAFSTATE_NATIVE=require, but still tells its status', async () => {
    const { nativeStatus, loadAddon } = await copied('require');
    expect(nativeStatus().loaded).toBe(false);
    expect(() => loadAddon()).toThrowError(/addon is not loaded: .*no such file.*npm run build:native/s);
  });
});
