import { readFileSync, statfsSync } from 'node:fs';
import { WafStateError } from '../../contract/errors.js';

/**
 * LMDB shares its locks and its pages by memory that all processes map. A file system that other machines write to, too, shows each of
 * them an old page or no lock at all, and the environment is damaged without a word.
 *
 * By `f_type` of statfs(2), as linux/magic.h and the file systems' own sources have them.
 */
const NETWORK_TYPES: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB2'],
  [0x01021997, '9P'],
  [0x5346414f, 'AFS'],
  [0x6b414653, 'AFS'],
  [0x00c36400, 'Ceph'],
  [0x73757245, 'Coda'],
  [0x01161970, 'GFS2'],
  [0x47504653, 'GPFS'],
  [0x0bd00bd0, 'Lustre'],
  [0x564c, 'NCP'],
  [0x7461636f, 'OCFS2'],
  [0xaad7aaea, 'PanFS'],
  [0x013111a8, 'IBRIX'],
  [0x786f4256, 'a shared folder of VirtualBox'],
  [0xbacbacbc, 'a shared folder of VMware'],
]);

/** Programs stand behind this one, of which few keep to this machine: mountinfo names them. */
const FUSE = 0x65735546;
const LOCAL_FUSE: ReadonlySet<string> = new Set(['fuseblk', 'fuse.fuse-overlayfs', 'fuse.ntfs-3g']);

/** Throws `invalid_option` where the directory lies on a file system of a network. REQUIRES: it exists, without symbolic links. */
export function refuseNetworkFileSystem(directory: string): void {
  const { type } = statfsSync(directory);
  const name = networkFileSystem(type, () =>
    mountedAs(directory, readFileSync('/proc/self/mountinfo', 'utf8')),
  );
  if (name === undefined) return;
  throw new WafStateError(
    'invalid_option',
    `openLmdb: ${directory} lies on ${name} (file system type 0x${unsigned(type).toString(16)}), where memory and locks are not shared as LMDB needs them; choose a directory on a local disk`,
    { details: { option: 'path', actual: unsigned(type) } },
  );
}

/** The name of a network's file system, undefined where the type is a local one's. */
export function networkFileSystem(type: number, fuseType: () => string | undefined): string | undefined {
  if (process.platform !== 'linux') return undefined;
  const magic = unsigned(type);
  if (magic !== FUSE) return NETWORK_TYPES.get(magic);
  const fuse = fuseType();
  return fuse !== undefined && LOCAL_FUSE.has(fuse) ? undefined : `FUSE (${fuse ?? 'of an unknown kind'})`;
}

/** The type in /proc/self/mountinfo of the innermost mount that the directory lies on. */
export function mountedAs(directory: string, mountinfo: string): string | undefined {
  let found: { point: string; type: string } | undefined;
  for (const line of mountinfo.split('\n')) {
    const [place, kind] = line.split(' - ');
    const point = place
      ?.split(' ')[4]
      ?.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
    const type = kind?.split(' ')[0];
    if (point === undefined || type === undefined) continue;
    const holds = directory === point || directory.startsWith(point.endsWith('/') ? point : `${point}/`);
    // Of two mounts at one point, the later one covers the other.
    if (holds && point.length >= (found?.point.length ?? 0)) found = { point, type };
  }
  return found?.type;
}

/** statfs gives the type as a signed long on some machines. */
function unsigned(type: number): number {
  return type >>> 0;
}
