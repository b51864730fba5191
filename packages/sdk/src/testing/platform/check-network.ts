import { defaultDaemonPort } from '@svc/daemon';
import { checkRules, parseHostPattern, parseRange, type TransformRules } from '@svc/egress/policy';
import { Refusal } from '../answers/refusal.js';

/** Checks network settings by the rules that the service enforces. @throws Refusal 400 */
export function checkNetwork(network: {
  denyOut?: readonly string[];
  allowOut?: readonly string[];
  httpsPorts?: readonly number[];
  rules?: TransformRules;
}): void {
  const { denyOut = [], allowOut = [], httpsPorts = [], rules } = network;
  const refuse = (text: string): never => {
    throw new Refusal(400, `network.${text}`);
  };
  for (const entry of denyOut)
    if (!parseRange(entry)) refuse(`denyOut: '${entry.slice(0, 200)}' is not an IP address or CIDR range`);
  for (const entry of allowOut) {
    if (entry === '0.0.0.0' || entry === '::') refuse(`allowOut: '${entry}' is not a destination`);
    if (!parseRange(entry) && !parseHostPattern(entry))
      refuse(`allowOut: '${entry.slice(0, 200)}' is not an IP address, CIDR range or domain`);
  }
  if (allowOut.some((entry) => !parseRange(entry)) && !denyOut.includes('0.0.0.0/0'))
    refuse("allowOut: with a domain in it, network.denyOut must contain '0.0.0.0/0'");
  if (httpsPorts.includes(defaultDaemonPort)) refuse(`httpsPorts: ${defaultDaemonPort} is the daemon's port`);
  const checked = rules && checkRules(rules);
  if (checked && 'problem' in checked) refuse(`rules: ${checked.problem}`);
}
