import type { EgressSettings } from '../../src/index.js';

/** Numbers that look random and are the same for one seed: from 0 up to, without, `below`. */
export type Random = (below: number) => number;

export function generator(seed: number): Random {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** Places that settings are tried on: hosts with an address each. */
export const PROBES: readonly { host: string; address: string }[] = [
  { host: 'a.example', address: '1.2.3.4' },
  { host: 'api.a.example', address: '203.0.112.7' },
  { host: 'xn--bcher-kva.example', address: '1.2.200.4' },
  { host: 'other.test', address: '8.8.8.8' },
  { host: 'b.example', address: '2606:4700::1' },
  { host: 'mapped.test', address: '::ffff:1.2.3.4' },
  { host: 'private.test', address: '10.1.2.3' },
];

const ADDRESSES = [
  '0.0.0.0',
  '1.2.3.4',
  '1.2.200.4',
  '8.8.8.8',
  '10.0.0.0',
  '203.0.112.7',
  '255.255.255.255',
  '::',
  '::1',
  '2606:4700::1',
  '2606:4700:0:0::',
  '2001:DB8::8:800:200C:417A',
  '::ffff:1.2.3.4',
  '::ffff:0:0',
  '0:0:0:0:0:ffff:102:304',
  '64:ff9b::1.2.3.4',
];
const HOSTS = [
  '*',
  'a.example',
  'A.Example',
  'api.a.example',
  '*.a.example',
  '*.example',
  'bücher.example',
  'BÜCHER.example.',
  'xn--bcher-kva.example',
  'a_b.example',
  'localhost',
  'other.test',
  'a.example.',
  '*.*.example',
  'a..b',
  '0x7f.1',
  '2130706433',
];
/** Spellings that some program takes for something, each put into a text at some place. */
const TWISTS = [
  '0',
  '00',
  '/',
  '/0',
  '/08',
  '/8',
  '/24',
  '/032',
  '/32',
  '/96',
  '/104',
  '/128',
  '%eth0',
  ' ',
  '.',
  ':',
  '::',
  '[',
  ']',
  '-',
  '+',
  '٣',
  'Ａ',
  '\0',
  '#',
  '@',
  '*',
];

/** Settings of which about a third are valid; what is not valid is nearly so. */
export function randomSettings(random: Random): EgressSettings {
  const pick = <T>(from: readonly T[]): T => from[random(from.length)]!;
  const twisted = (text: string) => {
    if (random(4) > 0) return text;
    const at = random(3) === 0 ? random(text.length + 1) : text.length;
    return text.slice(0, at) + pick(TWISTS) + text.slice(at);
  };
  const range = () => {
    const address = pick(ADDRESSES);
    const bits = ['', '', `/${random(address.includes(':') ? 129 : 33)}`, `/0${random(33)}`, '/0'];
    return twisted(random(8) === 0 ? '0.0.0.0/0' : address + pick(bits));
  };
  const list = (entry: () => string) => Array.from({ length: random(3) }, entry);
  const allowOut = list(() => (random(2) === 0 ? range() : twisted(pick(HOSTS))));
  const denyOut = [...list(range), ...(random(2) === 0 ? ['0.0.0.0/0'] : [])];
  const rules = Object.fromEntries(
    list(() => twisted(random(6) === 0 ? pick(ADDRESSES) : pick(HOSTS))).map((host) => [
      host,
      [{ transform: { headers: { [pick(['x-a', 'Authorization'])]: pick(['v', '${svc.secrets.key}']) } } }],
    ]),
  );
  const egressProxy = {
    address: twisted(`${pick([...HOSTS, '1.2.3.4', '[2606:4700::1]', '2606:4700::1'])}:1080`),
  };
  return {
    allowOut,
    denyOut,
    ...(random(3) === 0 ? { rules } : {}),
    ...(random(5) === 0 ? { egressProxy } : {}),
  };
}
