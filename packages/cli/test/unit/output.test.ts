import { CommandExitError, SandboxNotFoundError } from '@svc/sdk';
import { describe, expect, it } from 'vitest';
import { cannotIsolate } from '../../src/commands/server/choose-driver.js';
import { formatFindings } from '../../src/commands/server/doctor.js';
import { explainStartFailure } from '../../src/commands/server/start-failure.js';
import { CliError, UsageError } from '../../src/errors/cli-error.js';
import { describeError, errorLines, errorRecord } from '../../src/errors/describe-error.js';
import {
  formatAge,
  formatBytes,
  formatDuration,
  formatPairs,
  formatUntil,
  maskSecret,
} from '../../src/output/format.js';
import { transferText } from '../../src/output/progress.js';
import { createStyle, wantsColor } from '../../src/output/style.js';
import { formatFields, formatTable, printable, width } from '../../src/output/table.js';

const plain = createStyle(false);

describe('what is shown', () => {
  it.each([
    [0, '0 B'],
    [1023, '1023 B'],
    [1536, '1.5 KiB'],
    [150 * 1024, '150 KiB'],
    [1024 ** 3, '1.0 GiB'],
  ])('shows %d bytes as %s', (bytes, text) => expect(formatBytes(bytes)).toBe(text));

  it.each([
    [0, '0s'],
    [59_400, '59s'],
    [200_000, '3m 20s'],
    [3_600_000, '1h'],
    [360_000_000, '4d 4h'],
  ])('shows %d ms as %s', (ms, text) => expect(formatDuration(ms)).toBe(text));

  it('shows times from now', () => {
    expect(formatAge(new Date(1000), 61_000)).toBe('1m ago');
    expect(formatUntil(new Date(61_000), 1000)).toBe('in 1m');
    expect(formatUntil(new Date(0), 1000)).toBe('now');
    expect(formatAge(undefined, 0)).toBeUndefined();
  });

  it('masks keys', () => {
    expect(maskSecret('svc_0123456789abcdef')).toBe('svc_01...ef');
    expect(maskSecret('short')).toBe('***');
  });

  it('lines columns up, wide characters and colours counted right', () => {
    const style = createStyle(true);
    const items = [
      { name: style.green('a'), size: 5 },
      { name: '日本', size: undefined },
    ];
    const columns = [
      { head: 'NAME', value: (item: (typeof items)[number]) => item.name },
      { head: 'SIZE', value: (item: (typeof items)[number]) => item.size, align: 'right' as const },
    ];
    const lines = formatTable(items, columns, plain).trimEnd().split('\n');
    expect(lines.map(width)).toEqual([10, 10, 10]);
    expect(lines[0]).toBe('NAME  SIZE');
    expect(lines[2]).toBe('日本     -');
  });

  it('shows control characters instead of obeying them', () => {
    expect(printable('a\u001b]0;title\u0007\u001b[2Jb')).toBe('a\\x1b]0;title\\x07\\x1b[2Jb');
    expect(printable('\u001b[31mred\u001b[39m')).toBe('\u001b[31mred\u001b[39m');
  });

  it('keeps a value in its row and in its colour, with any content', () => {
    const columns = [{ head: 'METADATA', value: formatPairs }];
    const text = formatTable([{ k: 'v\r\nfake  line\t\u001b[31mred' }], columns, plain);
    expect(text).toBe('METADATA\nk=v\\x0d\\x0afake  line\\x09\\x1b[31mred\n');
  });

  it('leaves out fields that are unknown', () => {
    expect(formatFields({ A: 1, Long: undefined, Bc: 'x\ny' }, plain)).toBe('A   1\nBc  x\n    y\n');
  });

  it.each([
    [{ isTTY: true }, {}, true],
    [{ isTTY: true }, { NO_COLOR: '1' }, false],
    [{ isTTY: true }, { NO_COLOR: '' }, true],
    [{ isTTY: true }, { TERM: 'dumb' }, false],
    [{}, {}, false],
    [{}, { FORCE_COLOR: '1' }, true],
    [{}, { FORCE_COLOR: '1', NO_COLOR: '1' }, false],
  ])('decides on colours for %j with %j', (stream, env, color) =>
    expect(wantsColor(stream, env)).toBe(color),
  );

  it('shows how far a transfer is', () => {
    expect(transferText('f', 512, 1024)).toBe('f  [############............] 50 %  512 B of 1.0 KiB');
    expect(transferText('f', 512, undefined)).toBe('f  512 B');
  });
});

describe('failures', () => {
  it('say what to do on the command line, and the request once', () => {
    const error = new SandboxNotFoundError('Sandbox x does not exist.', { status: 404, requestId: 'req-1' });
    const described = describeError(error);
    expect(described).toMatchObject({
      code: 'sandbox_not_found',
      status: 404,
      requestId: 'req-1',
      exitCode: 1,
    });
    expect(errorLines(described)).toEqual({
      headline: 'Sandbox x does not exist.',
      rest: ['`svc sandbox list` shows the sandboxes that there are.', 'Request id: req-1'],
    });
    const named = describeError(new SandboxNotFoundError('gone (request req-1)', { requestId: 'req-1' }));
    expect(errorLines(named).rest).not.toContain('Request id: req-1');
  });

  it('have the exit code of their kind', () => {
    expect(describeError(new UsageError('no')).exitCode).toBe(2);
    expect(describeError(new CliError('no')).exitCode).toBe(1);
    expect(describeError('thrown text')).toMatchObject({ message: 'thrown text', exitCode: 1 });
    expect(describeError(new CommandExitError('x', { exitCode: 3, stdout: '', stderr: '' })).exitCode).toBe(
      1,
    );
  });

  it('are records for programs', () => {
    expect(errorRecord(describeError(new UsageError('bad', 'do this')))).toMatchObject({
      error: { message: 'bad', hint: 'do this', code: 'usage', exitCode: 2 },
    });
  });

  it('of a start name the port, its purpose and the option', () => {
    const taken = (port: number) =>
      explainStartFailure(Object.assign(new Error('x'), { code: 'EADDRINUSE', port }), {
        dataDir: '/d',
      }) as CliError;
    expect(taken(3000).message).toBe('Port 3000 (platform API) is taken by another program.');
    expect(taken(3000).hint).toContain('--port 3100');
    expect(taken(3002).hint).toContain('--sandbox-port 3102');
    expect(taken(3003).hint).toContain('--operator-port 3103');
    const other = new Error('else');
    expect(explainStartFailure(other, { dataDir: '/d' })).toBe(other);
  });

  it('of the machine list what is missing with the commands, the needed things only', () => {
    const findings = [
      {
        id: 'oci-runtime',
        ok: false,
        neededFor: 'driver' as const,
        message: 'No runtime.',
        fix: 'apt-get install runc',
      },
      { id: 'criu', ok: false, neededFor: 'memorySnapshot' as const, message: 'No CRIU.' },
    ];
    expect(cannotIsolate(findings).hint).toContain('  - No runtime.\n      apt-get install runc');
    expect(cannotIsolate(findings).hint).not.toContain('CRIU');
    const text = formatFindings({ findings, isolated: false, serverUser: 'It runs as svc.' }, plain);
    expect(text).toMatch(
      /NO {2}oci-runtime {2}No runtime\. \(no isolated sandboxes\)\n +apt-get install runc/,
    );
    expect(text).toMatch(/- {3}criu .*no memory in pauses and forks/);
    expect(text).toMatch(/\nIt runs as svc\.\n$/);
  });
});
