import { expectTypeOf, it } from 'vitest';
import {
  type ApiKey,
  type Client,
  type CommandEvent,
  type CommandResult,
  type CreatedApiKey,
  type ForkResult,
  NotFoundError,
  type Page,
  Sandbox,
  type SandboxInfo,
  SandboxNotFoundError,
  SvcError,
} from '../src/index.js';
import type { OperatedTeam, OperatorClient } from '../src/operator.js';

declare const sandbox: Sandbox;
declare const client: Client;
declare const operator: OperatorClient;

it('creates without options and with either form', () => {
  expectTypeOf(Sandbox.create()).resolves.toEqualTypeOf<Sandbox>();
  expectTypeOf(client.sandboxes.create('base', { timeoutMs: 1 })).resolves.toEqualTypeOf<Sandbox>();
  expectTypeOf(
    client.sandboxes.create({ metadata: { a: 'b' }, signal: undefined }),
  ).resolves.toEqualTypeOf<Sandbox>();
  // @ts-expect-error seconds are not what times are in
  client.sandboxes.create({ timeout: 1 });
  // @ts-expect-error the template is named once
  client.sandboxes.create('base', { template: 'other' });
});

it('gives lists as pages and as items', () => {
  const list = client.sandboxes.list();
  expectTypeOf<Awaited<typeof list>>().toEqualTypeOf<Page<SandboxInfo>>();
  expectTypeOf(list[Symbol.asyncIterator]).returns.toEqualTypeOf<
    AsyncGenerator<SandboxInfo, void, undefined>
  >();
});

it('distinguishes events and forks by their fields', () => {
  expectTypeOf<Extract<CommandEvent, { type: 'stdout' | 'stderr' }>['data']>().toEqualTypeOf<Uint8Array>();
  expectTypeOf<Extract<CommandEvent, { type: 'reattached' }>>().not.toHaveProperty('data');
  expectTypeOf<Extract<ForkResult<Sandbox>, { ok: false }>['error']>().toEqualTypeOf<SvcError>();
});

it('narrows errors by their class', () => {
  const error: unknown = undefined;
  if (SandboxNotFoundError.is(error)) expectTypeOf(error).toEqualTypeOf<SandboxNotFoundError>();
  if (NotFoundError.is(error)) expectTypeOf(error).toEqualTypeOf<NotFoundError>();
  if (SvcError.is(error)) expectTypeOf(error.retryAfterMs).toEqualTypeOf<number | undefined>();
});

it('runs commands', () => {
  expectTypeOf(sandbox.commands.run('x')).resolves.toEqualTypeOf<CommandResult>();
  expectTypeOf(sandbox.$`x ${1} ${['a']}`).resolves.toEqualTypeOf<CommandResult>();
  // @ts-expect-error objects have no place in a command line
  sandbox.$`x ${{}}`;
});

it('takes what only an operator or a resumed sandbox has', () => {
  expectTypeOf(client.apiKeys.create('x')).resolves.toEqualTypeOf<CreatedApiKey>();
  expectTypeOf(client.apiKeys.list()).resolves.toEqualTypeOf<ApiKey[]>();
  // @ts-expect-error a listed key is never shown
  client.apiKeys.list().then(([first]) => first?.key);
  expectTypeOf(sandbox.trafficAccessToken).toEqualTypeOf<string | undefined>();
  expectTypeOf(sandbox.routeTo(80).headers).toEqualTypeOf<Record<string, string>>();
  sandbox.resume({ autoPause: true });
  // @ts-expect-error a fork takes over how its source ends
  sandbox.fork({ autoPause: true });
  expectTypeOf(operator.teams.ban('a')).resolves.toEqualTypeOf<OperatedTeam>();
  operator.teams.update('a', { limits: { maxSecrets: null, maxTimeoutMs: 1 } });
  // @ts-expect-error the slug stays
  operator.teams.update('a', { slug: 'b' });
  // @ts-expect-error seconds are not what times are in
  operator.teams.update('a', { limits: { maxTimeToLiveSeconds: 1 } });
});
