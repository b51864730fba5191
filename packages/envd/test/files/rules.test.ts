import { expect, test } from 'vitest';
import { chooseForm } from '../../src/files/accept-encoding.js';
import { parseRange } from '../../src/files/byte-range.js';
import { evaluateConditions, rangeApplies } from '../../src/files/conditions.js';
import { inlineDisposition } from '../../src/files/content-disposition.js';
import { toHttpFailure } from '../../src/files/http-failure.js';
import { parseMetadataHeaders } from '../../src/files/metadata-headers.js';
import { MetadataError } from '../../src/filesystem/metadata.js';

test.each([
  [undefined, 'whole'],
  ['bytes=0-4', { first: 0, last: 4 }],
  ['bytes=5-', { first: 5, last: 9 }],
  ['bytes=-3', { first: 7, last: 9 }],
  ['bytes=-300', { first: 0, last: 9 }],
  ['bytes=9-100', { first: 9, last: 9 }],
  ['bytes=0-1, 4-5', 'whole'],
  ['items=0-1', 'whole'],
  ['bytes=10-', 'bad'],
  ['bytes=-0', 'bad'],
  ['bytes=5-2', 'bad'],
  ['bytes=a-b', 'bad'],
  ['bytes=-', 'bad'],
  ['bytes=', 'bad'],
  ['nonsense', 'bad'],
])('of ten bytes, %j is %j', (header, expected) => {
  expect(parseRange(header, 10)).toEqual(expected);
});

test.each([
  [undefined, 'identity'],
  ['', 'identity'],
  ['gzip, deflate, br', 'gzip'],
  ['gzip;q=0', 'identity'],
  ['*', 'gzip'],
  ['br', 'identity'],
  ['identity', 'identity'],
  ['br, identity;q=0', undefined],
  ['*;q=0', undefined],
  ['gzip, *;q=0', 'gzip'],
])('Accept-Encoding %j is answered with %s', (header, expected) => {
  expect(chooseForm(header, false)).toBe(expected);
});

test('a range or condition is answered plain, or not at all', () => {
  expect(chooseForm('gzip', true)).toBe('identity');
  expect(chooseForm('gzip, identity;q=0', true)).toBeUndefined();
});

test.each([
  ['a.txt', 'inline; filename="a.txt"'],
  ['a "b"\\c', 'inline; filename="a \\"b\\"\\\\c"'],
  ['ü\n', `inline; filename="__"; filename*=UTF-8''%C3%BC%0A`],
  ["it's (ö)", `inline; filename="it's (_)"; filename*=UTF-8''it%27s%20%28%C3%B6%29`],
  ['\ud800', `inline; filename="_"; filename*=UTF-8''%EF%BF%BD`],
])('the file name %j makes %s', (name, expected) => {
  expect(inlineDisposition(name)).toBe(expected);
});

const current = { etag: '"x"', modifiedMs: Date.parse('2026-01-01T00:00:00.500Z') };
const exact = 'Thu, 01 Jan 2026 00:00:00 GMT';
const before = 'Wed, 31 Dec 2025 23:59:59 GMT';
test.each([
  [{}, undefined],
  [{ 'if-none-match': '"x"' }, 304],
  [{ 'if-none-match': '"y", W/"x"' }, 304],
  [{ 'if-none-match': '*' }, 304],
  [{ 'if-none-match': '"y"', 'if-modified-since': exact }, undefined],
  [{ 'if-modified-since': exact }, 304],
  [{ 'if-modified-since': before }, undefined],
  [{ 'if-modified-since': 'garbage' }, undefined],
  [{ 'if-match': '"y"' }, 412],
  [{ 'if-match': 'W/"x"' }, 412],
  [{ 'if-match': '"x"' }, undefined],
  [{ 'if-unmodified-since': before }, 412],
  [{ 'if-unmodified-since': exact }, undefined],
] as [Record<string, string>, number | undefined][])('conditions %j give %s', (headers, expected) => {
  expect(evaluateConditions(headers, current)).toBe(expected);
});

test('If-Range lets a range pass for the same copy only', () => {
  expect(rangeApplies({}, current)).toBe(true);
  expect(rangeApplies({ 'if-range': '"x"' }, current)).toBe(true);
  expect(rangeApplies({ 'if-range': 'W/"x"' }, current)).toBe(false);
  expect(rangeApplies({ 'if-range': exact }, current)).toBe(true);
  expect(rangeApplies({ 'if-range': before }, current)).toBe(false);
});

test('metadata headers lose their prefix, and their limits hold', () => {
  expect(parseMetadataHeaders({ 'x-metadata-a.b': 'v w', host: 'x' })).toEqual({ 'a.b': 'v w' });
  expect(parseMetadataHeaders({ [`x-metadata-${'k'.repeat(246)}`]: 'v' })).toBeDefined();
  expect(() => parseMetadataHeaders({ [`x-metadata-${'k'.repeat(247)}`]: 'v' })).toThrow('246');
  expect(() => parseMetadataHeaders({ 'x-metadata-': 'v' })).toThrow('token characters');
  expect(() => parseMetadataHeaders({ 'x-metadata-a': 'ü' })).toThrow('ASCII');
  expect(parseMetadataHeaders({ 'x-metadata-a': 'v'.repeat(4095) })).toBeDefined();
  expect(() => parseMetadataHeaders({ 'x-metadata-a': 'v'.repeat(4096) })).toThrow('4096');
});

test('metadata that the file system does not keep is the fault of the request', () => {
  expect(toHttpFailure(new MetadataError('/a', 'ENOTSUP'), '/a')).toMatchObject({
    status: 400,
    message: '/a: the file system keeps no metadata of files',
  });
});
