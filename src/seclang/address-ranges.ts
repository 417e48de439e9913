import { BlockList, isIP } from 'node:net';

/** Addresses and networks. An IPv4 address that comes mapped into IPv6 is the IPv4 address. */
export class AddressRanges {
  readonly #list = new BlockList();

  /** False where the entry is neither an address nor a network. */
  add(entry: string): boolean {
    const [address = '', bits, ...rest] = entry.split('/');
    const version = isIP(address);
    if (version === 0 || rest.length > 0) return false;
    const family = version === 4 ? 'ipv4' : 'ipv6';
    if (bits === undefined) {
      this.#list.addAddress(address, family);
      return true;
    }
    const prefix = /^\d{1,3}$/.test(bits) ? Number(bits) : Number.NaN;
    if (!(prefix <= (version === 4 ? 32 : 128))) return false;
    this.#list.addSubnet(address, prefix, family);
    return true;
  }

  has(address: string): boolean {
    const plain = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address;
    const version = isIP(plain);
    return version !== 0 && this.#list.check(plain, version === 4 ? 'ipv4' : 'ipv6');
  }
}
