import { describe, expect, it } from 'vitest';
import { type DaemonFeatures, parseDaemonFeatures } from '../src/index.js';

const gates: [keyof DaemonFeatures, string, string][] = [
  ['recursiveWatch', '0.1.3', '0.1.4'],
  ['securedAccess', '0.1.99', '0.2.0'],
  ['stdinFlag', '0.2.10', '0.3.0'],
  ['defaultUser', '0.3.0', '0.4.0'],
  ['closeStdin', '0.5.1', '0.5.2'],
  ['octetStreamUpload', '0.5.6', '0.5.7'],
  ['fileMetadata', '0.6.1', '0.6.2'],
  ['watchEntries', '0.6.2', '0.6.3'],
  ['networkMounts', '0.6.3', '0.6.4'],
];

describe('features of a daemon', () => {
  it.each(gates)('%s is missing in %s and there in %s', (feature, before, from) => {
    expect(parseDaemonFeatures(before)[feature]).toBe(false);
    expect(parseDaemonFeatures(from)[feature]).toBe(true);
    expect(parseDaemonFeatures('10.0.0')[feature]).toBe(true);
  });

  it('compare numbers as numbers', () => {
    expect(parseDaemonFeatures('0.6.13').networkMounts).toBe(true);
    expect(parseDaemonFeatures('0.10.0').closeStdin).toBe(true);
  });

  it('are out of support below 0.1.0', () => {
    expect(parseDaemonFeatures('0.0.9').outdated).toBe(true);
    expect(parseDaemonFeatures('0.1.0').outdated).toBe(false);
  });

  it('count a pre-release as older than its release', () => {
    expect(parseDaemonFeatures('0.6.4-rc.1').networkMounts).toBe(false);
    expect(parseDaemonFeatures('v0.6.5-rc.1+build').networkMounts).toBe(true);
  });

  it.each([undefined, '', 'dev', '1.2'])('are all there for %j, which is no version', (version) => {
    const { outdated, ...features } = parseDaemonFeatures(version);
    expect(outdated).toBe(false);
    expect(Object.values(features)).toEqual(gates.map(() => true));
  });
});
