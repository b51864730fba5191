import type { ForwardedDestinations } from '../../contract/instance.js';
import { FORWARD_MARK } from './nft-rules.js';

const TABLE = 'inet sandboxes';
/** Destinations of one sandbox that are counted one by one; the others together. They are forgotten after an hour. */
const COUNTED = 'type ipv4_addr . inet_service; size 128; flags dynamic,timeout; timeout 1h;';

/** Sets in which packets of one sandbox are counted. */
const setsOf = (lease: number) => [`opened_${lease}`, `sent_${lease}`, `received_${lease}`];

/**
 * Rules by which the kernel forwards connections of the sandbox with this lease, in place of those it had, for nft: all at
 * once. They hold for the veth pair that is there now, not for a later one of the same name. Both chains leave a mark on
 * packets that says whether they may pass.
 */
export function forwardRules(lease: number, { ranges, exceptPorts }: ForwardedDestinations): string {
  const [opened, sent, received] = setsOf(lease);
  const others = `others_${lease}`;
  const within = ranges.map(({ first, last }) => `${first}-${last}`).join(', ');
  const only = (far: 'daddr' | 'saddr', port: 'dport' | 'sport') =>
    [
      ...(exceptPorts.length === 0 ? [] : [`tcp ${port} { ${exceptPorts.join(', ')} } return`]),
      ranges.length === 0 ? 'return' : `ip ${far} != { ${within} } return`,
      `meta mark set ${FORWARD_MARK.allowed}`,
    ].join('\n    ');
  return `
${setsOf(lease)
  .map((name) => `add set ${TABLE} ${name} { ${COUNTED} }`)
  .join('\n')}
add set ${TABLE} ${others} { type ct_dir; size 2; flags dynamic; }
add chain ${TABLE} forward_${lease}
add chain ${TABLE} forward_${lease}_back
flush chain ${TABLE} forward_${lease}
flush chain ${TABLE} forward_${lease}_back
table ${TABLE} {
  chain forward_${lease} {
    ct direction reply goto forward_${lease}_back
    iif != "s${lease}" return
    meta mark set ${FORWARD_MARK.refused}
    ${only('daddr', 'dport')}
    ct mark != ${FORWARD_MARK.allowed} return
    ct state new update @${opened} { ip daddr . tcp dport counter }
    update @${sent} { ip daddr . tcp dport counter } return
    update @${others} { ct direction counter }
  }
  chain forward_${lease}_back {
    oif != "s${lease}" return
    meta mark set ${FORWARD_MARK.refused}
    ${only('saddr', 'sport')}
    update @${received} { ip saddr . tcp sport counter } return
    update @${others} { ct direction counter }
  }
}
add element ${TABLE} forwarded { "s${lease}" : jump forward_${lease} }
`;
}

/** Takes away all of them, also where there are none. */
export function withdrawRules(lease: number): string {
  const chains = [`forward_${lease}`, `forward_${lease}_back`];
  const sets = setsOf(lease).map((name) => ({ name, of: COUNTED }));
  sets.push({ name: `others_${lease}`, of: 'type ct_dir; size 2; flags dynamic;' });
  const element = `element ${TABLE} forwarded { "s${lease}" : jump forward_${lease} }`;
  return [
    ...chains.map((name) => `add chain ${TABLE} ${name}`),
    ...sets.map(({ name, of }) => `add set ${TABLE} ${name} { ${of} }`),
    `add ${element}`,
    `delete ${element}`,
    ...chains.map((name) => `flush chain ${TABLE} ${name}`),
    ...chains.map((name) => `delete chain ${TABLE} ${name}`),
    ...sets.map(({ name }) => `delete set ${TABLE} ${name}`),
    '',
  ].join('\n');
}
