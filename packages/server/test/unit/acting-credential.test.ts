import { describe, expect, it } from 'vitest';
import {
  isActingCredential,
  issueActingCredential,
  readActingCredential,
} from '../../src/api/auth/acting-credential.js';
import { createKeyRing } from '../../src/storage/keys/key-ring.js';

const keys = createKeyRing(Buffer.alloc(32, 1));
const NOW = 1_800_000_000_000;
const request = { method: 'DELETE', url: '/sandboxes/i1?force=true' };
const issued = issueActingCredential(keys, 'team-1', request, NOW);
const read = (header: string, more: { of?: typeof request; at?: number; by?: typeof keys } = {}) =>
  readActingCredential(more.by ?? keys, header, more.of ?? request, more.at ?? NOW);

describe('the credential with which the operator acts for a team', () => {
  it('names the team, and is distinguished from an API key', () => {
    expect(isActingCredential(issued)).toBe(true);
    expect(isActingCredential(`svc_${'0'.repeat(40)}`)).toBe(false);
    expect(read(issued)).toBe('team-1');
  });

  it.each([-60_000, 60_000])('is valid for a clock that differs by %i ms', (apart) =>
    expect(read(issued, { at: NOW + apart })).toBe('team-1'),
  );

  it.each([-60_001, 60_001, 86_400_000])('is not valid for one that differs by %i ms', (apart) =>
    expect(read(issued, { at: NOW + apart })).toBeUndefined(),
  );

  it.each([
    { method: 'GET', url: request.url },
    { method: 'DELETE', url: '/sandboxes/i2?force=true' },
    { method: 'DELETE', url: '/sandboxes/i1' },
  ])('is for one request, not for $method $url', (of) => expect(read(issued, { of })).toBeUndefined());

  it('is made by the server key alone, and cannot be altered', () => {
    expect(read(issued, { by: createKeyRing(Buffer.alloc(32, 2)) })).toBeUndefined();
    expect(read(issued.replace('team-1', 'team-2'))).toBeUndefined();
    expect(read(issued.replace(String(NOW), String(NOW + 1)))).toBeUndefined();
    for (const altered of [
      `${issued}.x`,
      `${issued}0`,
      issued.slice(0, -1),
      issued.slice('svcact_'.length),
      'svcact_',
    ])
      expect(read(altered), altered).toBeUndefined();
  });
});
