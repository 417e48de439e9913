// Builds the libraries that are loaded before libc into the processes under torture.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const SOURCES = new URL('../../test/reliability/', import.meta.url);
const BUILT = new URL('../../build/reliability/', import.meta.url);

/** The path of the library, compiled anew where its source is newer; undefined where there is no C compiler. */
export function preloadLibrary(name) {
  const source = fileURLToPath(new URL(`${name}.c`, SOURCES));
  const library = fileURLToPath(new URL(`${name}.so`, BUILT));
  if (existsSync(library) && statSync(library).mtimeMs > statSync(source).mtimeMs) return library;
  mkdirSync(BUILT, { recursive: true });
  // Renamed when it is whole: another test may be building it, too.
  const draft = `${library}.${process.pid}`;
  try {
    execFileSync(
      'cc',
      ['-O1', '-Wall', '-Wextra', '-Werror', '-shared', '-fPIC', '-o', draft, source, '-ldl'],
      {
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    );
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
  renameSync(draft, library);
  return library;
}
