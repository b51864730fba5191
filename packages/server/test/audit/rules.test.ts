import { platformRules } from '@svc/platform/rules';
import { describe, expect, it } from 'vitest';
import { entryId, leastEntryId } from '../../src/api/audit/entry.js';
import { outcomeOf } from '../../src/api/audit/list-entries.js';
import { isAudited, madeId, resourceBefore } from '../../src/api/audit/resource.js';
import { readOperatorDocument, readPlatformDocument } from '../../src/api/document.js';
import { operatorRoutes, platformRoutes } from '../../src/api/route-table.js';

/** A route of either document. */
const routeOf = (id: string) =>
  [...platformRoutes(readPlatformDocument()), ...operatorRoutes(readOperatorDocument())].find(
    ({ operationId }) => operationId === id,
  )!;

const UUID = '0b0e2b3c-6d1f-4a55-9c0e-0123456789ab';

describe('the identifier of an entry', () => {
  it('is a UUID of version 7 that sorts by time', () => {
    const ids = [0, 1, 255, 1_700_000_000_000, 1_700_000_000_001, 2 ** 47].map((at) =>
      entryId(at, 'ffffffffffffffffffff'),
    );
    expect(ids).toEqual([...ids].sort());
    for (const id of ids)
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it('is not below the least of its time, and below that of the next millisecond', () => {
    for (const at of [0, 1, 1_700_000_000_000, 4_000_000_000_000]) {
      for (const random of ['00000000000000000000', 'ffffffffffffffffffff']) {
        expect(entryId(at, random) >= leastEntryId(at)).toBe(true);
        expect(entryId(at, random) < leastEntryId(at + 1)).toBe(true);
      }
    }
    expect(leastEntryId(-5)).toBe(leastEntryId(0));
    expect(leastEntryId(Number.MAX_SAFE_INTEGER)).toBe('ffffffff-ffff');
  });
});

describe('which operations leave an entry', () => {
  const audited = [...platformRoutes(readPlatformDocument()), ...operatorRoutes(readOperatorDocument())];

  it('is every one that changes something under a credential, but for those that are named', () => {
    const quiet = audited.filter((route) => route.method !== 'GET' && !isAudited(route));
    expect(quiet.map(({ operationId }) => operationId)).toEqual(['refreshSandbox', 'uploadTemplateFiles']);
  });

  it('is of those that only read, what shows secrets and keys', () => {
    const reads = audited.filter((route) => route.method === 'GET' && isAudited(route));
    expect(reads.map(({ operationId }) => operationId).sort()).toEqual(
      ['getSecret', 'listApiKeys', 'listSecrets', 'listTeamApiKeys'].sort(),
    );
  });

  it('names the kind of what each of them acts on', () => {
    for (const route of audited.filter(isAudited))
      expect(resourceBefore(route, {}, {})?.kind, route.operationId).toMatch(/^[a-z]+$/);
  });
});

describe('what is kept of a request', () => {
  it('is the last identifier of the path', () => {
    const params = { templateID: 'abc', buildID: UUID };
    expect(resourceBefore(routeOf('startTemplateBuild'), params, {})).toEqual({ kind: 'build', id: UUID });
    const key = { team: 'research', apiKeyID: UUID };
    expect(resourceBefore(routeOf('deleteTeamApiKey'), key, undefined)).toEqual({
      kind: 'key',
      id: UUID,
    });
  });

  it('is nothing that has not the form of an identifier: no key, no value, no line break', () => {
    const key = `svc_${'ab'.repeat(20)}`;
    for (const [operationId, name] of [
      ['deleteApiKey', 'apiKeyID'],
      ['deleteSecret', 'secretID'],
      ['deleteTemplate', 'templateID'],
      ['deleteVolume', 'volumeID'],
      ['killSandbox', 'sandboxID'],
    ] as const)
      for (const text of [key, 'hunter2\n{"forged":true}', '', ' ', 'x'.repeat(300), 'é', '\u001b[31m'])
        expect(resourceBefore(routeOf(operationId), { [name]: text }, undefined)?.id, text).toBeUndefined();
    expect(resourceBefore(routeOf('deleteTemplateTags'), {}, { name: key })?.id).toBeUndefined();
    expect(resourceBefore(routeOf('createSecret'), {}, { name: 'a', value: 'hunter2' })).toEqual({
      kind: 'secret',
      id: undefined,
    });
  });

  it('is of what an answer made its identifier alone', () => {
    const made = { volumeID: UUID, name: 'data', token: 'secret' };
    expect(madeId(platformRules.createVolume, made)).toBe(UUID);
    expect(madeId(platformRules.killSandbox, undefined)).toBeUndefined();
    expect(madeId(platformRules.createVolume, 'no object')).toBeUndefined();
  });

  it('calls outcomes by the class of their status', () => {
    expect([null, 200, 204, 399, 400, 404, 499, 500, 503].map((status) => outcomeOf(status))).toEqual([
      'unfinished',
      ...['succeeded', 'succeeded', 'succeeded', 'refused', 'refused', 'refused', 'failed', 'failed'],
    ]);
  });
});
