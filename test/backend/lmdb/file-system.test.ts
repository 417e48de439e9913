import { describe, expect, it } from 'vitest';
import {
  mountedAs,
  networkFileSystem,
  refuseNetworkFileSystem,
} from '../../../src/backend/lmdb/file-system.js';

const MOUNTINFO = String.raw`22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
40 22 0:40 / /srv rw - nfs4 server:/srv rw
41 40 0:41 / /srv/my\040files rw,nosuid - fuse.sshfs user@host:/ rw
42 22 0:42 / /mnt rw - tmpfs none rw
43 22 0:43 / /mnt rw - fuse.fuse-overlayfs overlay rw
`;

describe.runIf(process.platform === 'linux')('a file system', () => {
  it('of this machine is none of a network', () => {
    const local = {
      ext4: 0xef53,
      btrfs: 0x9123683e,
      xfs: 0x58465342,
      tmpfs: 0x01021994,
      overlay: 0x794c7630,
    };
    for (const type of Object.values(local)) expect(networkFileSystem(type, () => undefined)).toBeUndefined();
    expect(() => refuseNetworkFileSystem('/proc')).not.toThrow();
  });

  it.each([
    ['NFS', 0x6969],
    ['CIFS', 0xff534d42],
    // As a machine gives it whose statfs has a signed type of 32 bits.
    ['CIFS', 0xff534d42 | 0],
    ['SMB2', 0xfe534d42],
    ['9P', 0x01021997],
    ['Ceph', 0x00c36400],
    ['Lustre', 0x0bd00bd0],
  ])('of a network is told by its type: %s', (name, type) => {
    expect(networkFileSystem(type, () => undefined)).toBe(name);
  });

  it('behind FUSE is told by its mount, and refused where that tells nothing', () => {
    const at = (directory: string) => networkFileSystem(0x65735546, () => mountedAs(directory, MOUNTINFO));
    expect(at('/srv/my files/state')).toBe('FUSE (fuse.sshfs)');
    expect(at('/mnt/state')).toBeUndefined();
    expect(networkFileSystem(0x65735546, () => undefined)).toBe('FUSE (of an unknown kind)');
  });

  it('is that of the innermost mount', () => {
    expect(mountedAs('/', MOUNTINFO)).toBe('ext4');
    expect(mountedAs('/srvother', MOUNTINFO)).toBe('ext4');
    expect(mountedAs('/srv', MOUNTINFO)).toBe('nfs4');
    expect(mountedAs('/srv/my', MOUNTINFO)).toBe('nfs4');
    expect(mountedAs('/mnt', MOUNTINFO)).toBe('fuse.fuse-overlayfs');
  });
});
