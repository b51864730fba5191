import { REFUSALS } from './nft-rules.js';

/** Packets of one veth pair that were refused for one reason, since it was made. */
export interface LinkRefusals {
  lease: number;
  reason: string;
  packets: number;
}

/** Reads what `network_refusals` answers: for each chain that refuses, `LEASE:PACKETS ...`. Deleted links are not in it. */
export function readRefusals(answers: Record<string, string | undefined>): LinkRefusals[] {
  return Object.entries(REFUSALS).flatMap(([name, { reason }]) =>
    [...(answers[name] ?? '').matchAll(/(\d+):(\d+)/g)].map(([, lease, packets]) => ({
      lease: Number(lease),
      reason,
      packets: Number(packets),
    })),
  );
}

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

/** Packets of one veth pair that were forwarded past the egress process. */
export interface LinkTraffic {
  lease: number;
  /** Undefined: the sum of all destinations. */
  address?: string;
  /** 0 without an address. */
  port: number;
  connections: number;
  /** With their headers. */
  bytesSent: number;
  bytesReceived: number;
}

/** Reads what `network_forwarded` answers: `opened_LEASE`, `sent_LEASE`, `received_LEASE` and `others_LEASE`. */
export function readForwarded(answers: Record<string, string | undefined>): LinkTraffic[] {
  const places = new Map<string, LinkTraffic>();
  const placeOf = (lease: number, address: string | undefined, port: number): LinkTraffic => {
    const key = `${lease} ${address} ${port}`;
    const known = places.get(key);
    if (known !== undefined) return known;
    const none = { connections: 0, bytesSent: 0, bytesReceived: 0 };
    const place = { lease, ...(address === undefined ? {} : { address }), port, ...none };
    places.set(key, place);
    return place;
  };
  for (const [name, text] of Object.entries(answers)) {
    const [kind, lease] = name.split('_');
    if (kind === 'others')
      for (const [, direction, bytes] of (text ?? '').matchAll(/(original|reply):\d+:(\d+)/g))
        placeOf(Number(lease), undefined, 0)[direction === 'original' ? 'bytesSent' : 'bytesReceived'] +=
          Number(bytes);
    else
      for (const [, address, port, packets, bytes] of (text ?? '').matchAll(/([\d.]+)\/(\d+):(\d+):(\d+)/g)) {
        const place = placeOf(Number(lease), address, Number(port));
        if (kind === 'opened') place.connections += Number(packets);
        else place[kind === 'sent' ? 'bytesSent' : 'bytesReceived'] += Number(bytes);
      }
  }
  return [...places.values()];
}
