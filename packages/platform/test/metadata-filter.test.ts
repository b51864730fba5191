import { describe, expect, it } from 'vitest';
import { createPlatformClient, encodeMetadataFilter } from '../src/index.js';
import { decodeMetadataFilter } from './metadata-pipeline.js';

const cases: Record<string, Record<string, string>> = {
  'plain pairs': { user: 'ann', run: '42' },
  'a percent sign': { rate: '100%', '50%': 'half' },
  'text that looks percent-encoded': { path: 'a%2Fb', already: '%25' },
  'a plus sign': { sum: '1+1', 'a+b': 'c' },
  ampersands: { 'r&d': 'black&white' },
  'equals signs': { 'a=b': 'c=d', base64: 'eA==' },
  spaces: { 'first name': 'Ann Lee', ' ': ' ' },
  unicode: { ключ: 'значение', emoji: '🧪', umlaut: 'äöü' },
  'empty values': { empty: '' },
  'reserved characters': { all: `!*'();:@&=+$,/?#[]~` },
  'a line break': { text: 'one\ntwo' },
};

async function rawFilterOf(metadata: Record<string, string>): Promise<string> {
  const urls: string[] = [];
  const client = createPlatformClient({
    baseUrl: 'http://platform.test',
    fetch: async (request) => {
      urls.push(request.url);
      return Response.json([]);
    },
  });
  await client.GET('/v2/sandboxes', { params: { query: { metadata: encodeMetadataFilter(metadata)! } } });
  return urls[0]!.split('?metadata=')[1]!;
}

describe('the metadata filter', () => {
  it.each(Object.entries(cases))('reaches the server unchanged with %s', async (_, metadata) => {
    expect(decodeMetadataFilter(await rawFilterOf(metadata))).toEqual(metadata);
  });

  it('wears exactly three layers of encoding', async () => {
    expect(encodeMetadataFilter({ 'a b': '1+1' })).toBe('a%2520b=1%252B1');
    expect(await rawFilterOf({ 'a b': '1+1' })).toBe('a%252520b%3D1%25252B1');
  });

  it('is left out when there is nothing to filter by', () => {
    expect(encodeMetadataFilter({})).toBeUndefined();
  });
});
