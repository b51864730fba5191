/** Bytes that left by the link of one lease, by all of its owners. */
export interface LinkSent {
  lease: number;
  /** With their headers. */
  bytes: number;
}

/** Reads what `network_sent` answers: `ADDRESS:BYTES ...`. @param leaseOf the lease that an address belongs to */
export function readSent(text: string, leaseOf: (address: string) => number): LinkSent[] {
  return [...text.matchAll(/([\d.]+):(\d+)/g)].map(([, address, bytes]) => ({
    lease: leaseOf(address!),
    bytes: Number(bytes),
  }));
}
