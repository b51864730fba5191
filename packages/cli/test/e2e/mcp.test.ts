import type { ChildProcess } from 'node:child_process';
import { on } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type LocalServer, startLocalServer } from '../support/local-server.js';
import { runCli, runProcess } from '../support/run-cli.js';

/** Waits until what a program prints is complete, and gives it. */
async function printed(child: ChildProcess, isComplete: (text: string) => boolean): Promise<string> {
  let text = '';
  for await (const piece of on(child.stdout!, 'data')) {
    text += String(piece[0]);
    if (isComplete(text)) break;
  }
  return text;
}

describe('svc mcp', () => {
  let local: LocalServer;
  beforeAll(async () => {
    local = await startLocalServer();
  });
  afterAll(() => local?.[Symbol.asyncDispose]());

  const sandboxes = async () =>
    JSON.parse((await runCli(['sandbox', 'list', '--json'], { env: local.env })).stdout) as {
      metadata: object;
    }[];

  /** Says lines to `svc mcp`, and closes its input once all were answered. */
  const talk = async (args: string[], messages: object[]) => {
    const run = await runProcess(['mcp', ...args], {
      env: local.env,
      stdin: 'open',
      started: async (child) => {
        for (const message of messages)
          child.stdin!.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
        const answers = messages.filter((message) => 'id' in message).length;
        await printed(child, (text) => text.split('\n').length > answers);
        child.stdin!.end();
      },
    });
    const answers = run.stdout.trim().split('\n');
    return { ...run, answers: answers.map((line) => JSON.parse(line) as { id: number; result: unknown }) };
  };
  const hello = {
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '0' } },
  };
  const echo = {
    id: 2,
    method: 'tools/call',
    params: { name: 'run_command', arguments: { command: 'echo hi' } },
  };

  it('speaks the protocol over its input and output, and leaves no sandbox', async () => {
    const { code, answers, stderr } = await talk([], [hello, { method: 'notifications/initialized' }, echo]);
    expect(answers).toMatchObject([
      { id: 1, result: { serverInfo: { name: 'svc' }, capabilities: { tools: {} } } },
      { id: 2, result: { content: [{ type: 'text', text: 'exit code: 0\nstdout:\nhi\n' }] } },
    ]);
    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(await sandboxes()).toEqual([]);
  });

  it('continues in the sandbox of a name, and leaves it', async () => {
    const write = { command: 'date > made; echo $(ls)' };
    for (const text of ['made', 'made']) {
      const named = { ...echo, params: { name: 'run_command', arguments: write } };
      const { answers } = await talk(
        ['--name', 'kept'],
        [hello, { method: 'notifications/initialized' }, named],
      );
      expect(answers[1]).toMatchObject({
        result: { content: [{ text: `exit code: 0\nstdout:\n${text}\n` }] },
      });
    }
    expect((await sandboxes()).map(({ metadata }) => metadata)).toEqual([{ name: 'kept', 'made-by': 'mcp' }]);
  });

  it('serves HTTP until it is stopped, with a token that it prints or is given', async () => {
    for (const [env, shown] of [
      [{}, /^http:\/\/127\.0\.0\.1:\d+\/mcp\nAuthorization: Bearer \S{32}\n$/],
      [{ SVC_MCP_TOKEN: 'given' }, /^http:\/\/127\.0\.0\.1:\d+\/mcp\n$/],
    ] as const) {
      const run = await runProcess(['mcp', '--http', '0'], {
        env: { ...local.env, ...env },
        started: async (child) => {
          const told = await printed(child, (text) => shown.test(text));
          const token = 'SVC_MCP_TOKEN' in env ? 'given' : /Bearer (\S+)/.exec(told)![1];
          const answer = await fetch(told.split('\n')[0]!, {
            method: 'POST',
            body: JSON.stringify({ jsonrpc: '2.0', ...hello }),
            headers: {
              authorization: `Bearer ${token}`,
              'content-type': 'application/json',
              accept: 'application/json, text/event-stream',
            },
          });
          expect(answer.status).toBe(200);
          expect(await answer.text()).toContain('"name":"svc"');
          child.kill('SIGTERM');
        },
      });
      expect(run.stderr).toBe('');
    }
  });
});
