import { describe, expect, it } from 'vitest';
import { traceVariables } from '../../src/process/trace-context.js';

const parent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const variables = (headers: Record<string, string>) => traceVariables(new Headers(headers));

describe('the trace of a request', () => {
  it('becomes variables of the program', () => {
    expect(variables({ traceparent: parent })).toEqual({ TRACEPARENT: parent });
    const tracestate = 'rojo=00f067aa0ba902b7, 1tenant@vendor=t61rcWkgMzE';
    expect(variables({ traceparent: parent, tracestate })).toEqual({
      TRACEPARENT: parent,
      TRACESTATE: tracestate,
    });
  });

  it.each([
    ['nothing', ''],
    ['a trace id of zeros', '00-00000000000000000000000000000000-00f067aa0ba902b7-01'],
    ['a parent id of zeros', '00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01'],
    ['capital letters', parent.toUpperCase()],
    ['the forbidden version', parent.replace(/^00/, 'ff')],
    ['a version that is not known', parent.replace(/^00/, '01')],
    ['more behind it', `${parent}-x`],
    ['two of them', `${parent}, ${parent}`],
    ['an id that is too short', '00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01'],
    ['a command', '$(reboot)'],
    ['a second variable', `${parent}\tLD_PRELOAD=/tmp/x`],
  ])('is left out for %s', (_, traceparent) => {
    expect(variables({ traceparent, tracestate: 'a=b' })).toBeUndefined();
  });

  it.each([
    ['nothing', ''],
    ['no value', 'a'],
    ['an empty value', 'a='],
    ['a capital key', 'A=b'],
    ['a second equals sign', 'a=b=c'],
    ['a character that is not printable', 'a=b\u00e9'],
    ['33 members', Array.from({ length: 33 }, (_, index) => `a${index}=b`).join(',')],
    ['more than 512 characters', `a=${'b'.repeat(250)},c=${'d'.repeat(260)}`],
  ])('keeps its id when its state has %s', (_, tracestate) => {
    expect(variables({ traceparent: parent, tracestate })).toEqual({ TRACEPARENT: parent });
  });
});
