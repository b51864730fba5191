import { describe, expect, it } from 'vitest';
import { readLines } from '../../src/code/read-lines.js';
import { parseEvent, toContext } from '../../src/code/wire.js';

describe('a line of the interpreter', () => {
  it.each([
    ['{"type":"stdout","text":"a"}', { type: 'stdout', text: 'a' }],
    ['{"type":"stderr"}', { type: 'stderr', text: '' }],
    ['{"type":"number_of_executions","execution_count":3}', { type: 'count', count: 3 }],
    ['{"type":"end_of_execution"}', { type: 'end', expected: true }],
    ['{"type":"unexpected_end_of_execution"}', { type: 'end', expected: false }],
    [
      '{"type":"error","name":"E","value":null,"traceback":["x"]}',
      { type: 'error', error: { name: 'E', value: '', traceback: '["x"]' } },
    ],
    ['{"type":"a kind of later"}', undefined],
    ['{}', undefined],
  ])('%s is read', (line, event) => {
    expect(parseEvent(line)).toEqual(event);
  });

  it('is a result with each representation that has the right type, and others by their name', () => {
    const line = {
      type: 'result',
      is_main_result: true,
      text: 'a',
      html: 5,
      png: 'aGk=',
      json: { deep: [1] },
      data: { a: [1] },
      chart: { type: 'line', elements: [] },
      'application/x-own': { b: 2 },
    };
    expect(parseEvent(JSON.stringify(line))).toEqual({
      type: 'result',
      result: {
        isMainResult: true,
        text: 'a',
        png: 'aGk=',
        json: { deep: [1] },
        data: { a: [1] },
        chart: { type: 'line', elements: [] },
        extra: { 'application/x-own': { b: 2 } },
      },
    });
  });

  it('keeps names that mean something to JavaScript from meaning it', () => {
    const event = parseEvent('{"type":"result","__proto__":{"polluted":1},"data":[1],"chart":{"type":1}}');
    expect(event).toMatchObject({ result: { isMainResult: false } });
    const { result } = event as { result: { extra: object } };
    expect(Object.getPrototypeOf(result)).toBe(Object.prototype);
    expect(Object.getPrototypeOf(result.extra)).toBe(Object.prototype);
    expect(result).not.toHaveProperty('polluted');
    expect(result).not.toHaveProperty('data');
    expect(result).not.toHaveProperty('chart');
  });

  it.each(['', 'no', '[]', 'null', '1', `${'['.repeat(200_000)}`])('%.20s is refused', (line) => {
    expect(() => parseEvent(line)).toThrow(/not JSON|not an object/);
  });

  it('is a context only with an id', () => {
    expect(toContext({ id: 'a', language: 'python', cwd: '/' })).toEqual({
      id: 'a',
      language: 'python',
      cwd: '/',
    });
    expect(() => toContext({ id: 1 })).toThrow(/no id/);
    expect(() => toContext(null)).toThrow(/no id/);
  });
});

describe('lines of a stream', () => {
  const limits = { lineBytes: 20, totalBytes: 60 };
  const streamOf = (...chunks: (string | Uint8Array)[]) =>
    new ReadableStream<Uint8Array>({
      start(controller) {
        for (const chunk of chunks)
          controller.enqueue(typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk);
        controller.close();
      },
    });
  const collect = async (stream: ReadableStream<Uint8Array>) => {
    const lines: string[] = [];
    for await (const line of readLines(stream, limits)) lines.push(line);
    return lines;
  };

  it('are put together from any pieces, characters cut in two included', async () => {
    const bytes = new TextEncoder().encode('ü€😀\n');
    const single = [...bytes].map((byte) => Uint8Array.of(byte));
    expect(await collect(streamOf('a\nb', 'c\n\n', ...single, 'end'))).toEqual(['a', 'bc', 'ü€😀', 'end']);
  });

  it('are bounded, each and all together', async () => {
    await expect(collect(streamOf('x'.repeat(15), 'x'.repeat(15)))).rejects.toThrow(RangeError);
    await expect(collect(streamOf(...Array.from({ length: 10 }, () => 'xxxxxxx\n')))).rejects.toThrow(
      RangeError,
    );
  });

  it('cancel the stream when nobody reads on', async () => {
    let cancelled = false;
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new TextEncoder().encode('a\n')),
      cancel: () => void (cancelled = true),
    });
    for await (const _ of readLines(endless, limits)) break;
    expect(cancelled).toBe(true);
  });
});
