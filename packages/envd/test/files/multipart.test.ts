import { expect, test } from 'vitest';
import { parseBoundary, readParts } from '../../src/files/multipart.js';

async function read(body: string | Buffer, chunkSize: number, boundary = 'B') {
  const bytes = Buffer.from(body as string);
  async function* chunks() {
    for (let at = 0; at < bytes.length; at += chunkSize) yield bytes.subarray(at, at + chunkSize);
  }
  const parts: { name: string; filename: string | undefined; content: string }[] = [];
  for await (const { name, filename, content } of readParts(chunks(), boundary)) {
    let text = '';
    for await (const chunk of content) text += chunk.toString('latin1');
    parts.push({ name, filename, content: text });
  }
  return parts;
}

const body =
  'preamble\r\n--B\r\nContent-Disposition: form-data; name="file"; filename="a \\"b\\".txt"\r\n\r\none\r\n--\r\n-B\r\n' +
  '--B \r\ncontent-disposition: form-data; name=other\r\nX: y\r\n\r\n\r\n--B\r\n\r\nbare\r\n--B--\r\nepilogue';

test.each([1, 2, 3, 5, 7, 64, 10_000])('a body cut every %i bytes has the same parts', async (size) => {
  expect(await read(body, size)).toEqual([
    { name: 'file', filename: 'a "b".txt', content: 'one\r\n--\r\n-B' },
    { name: 'other', filename: undefined, content: '' },
    { name: '', filename: undefined, content: 'bare' },
  ]);
});

test('a content that is not read is skipped', async () => {
  async function* chunks() {
    yield Buffer.from('--B\r\n\r\nlong\r\n--B\r\nContent-Disposition: form-data; name="b"\r\n\r\nx\r\n--B--');
  }
  const names: string[] = [];
  for await (const part of readParts(chunks(), 'B')) names.push(part.name);
  expect(names).toEqual(['', 'b']);
});

test.each([
  ['', 'end'],
  ['no boundary at all', 'end'],
  ['--B\r\n\r\ncut', 'end'],
  ['--B\r\nHeader: only', 'end'],
  ['--Bx\r\n\r\n\r\n--B--', 'boundary line'],
  [`--B\r\n${'h'.repeat(20_000)}`, 'too long'],
])('%j is refused', async (text, reason) => {
  await expect(read(text, 4096)).rejects.toThrow(reason);
});

test.each([
  ['multipart/form-data; boundary=abc', 'abc'],
  ['multipart/form-data; charset=x; boundary="a b\\"c"', 'a b"c'],
  ['multipart/form-data', undefined],
])('the boundary of %j is %j', (type, expected) => {
  expect(parseBoundary(type)).toBe(expected);
});

test('a file name in the extended form wins', async () => {
  const [part] = await read(
    `--B\r\nContent-Disposition: form-data; name="file"; filename="x"; filename*=UTF-8''%C3%BC%20y\r\n\r\n\r\n--B--`,
    100,
  );
  expect(part?.filename).toBe('ü y');
});
