import { describe, expect, it } from 'vitest';
import { WebhookVerificationError, webhooks } from '../../src/index.js';

const secret = 'a-signing-secret-of-at-least-32-characters';
const now = new Date('2026-01-02T03:04:05Z');
const body = JSON.stringify({
  id: 'e1',
  version: 'v2',
  type: 'sandbox.lifecycle.updated',
  timestamp: '2026-01-02T03:04:00Z',
  event_data: { set_timeout: '2026-01-02T04:00:00Z', sandbox_metadata: { a: 'b' } },
  sandbox_id: 's1',
  sandbox_execution_id: 'x1',
  sandbox_template_id: 't1',
  sandbox_build_id: 'b1',
  sandbox_team_id: 'team1',
});

describe('webhooks.unwrap', () => {
  it('gives the event of a delivery it can verify', async () => {
    const headers = await webhooks.sign({ body, secret, timestamp: now });
    const event = await webhooks.unwrap(body, headers, secret, { now });
    expect(event).toMatchObject({ id: 'e1', sandboxId: 's1', teamId: 'team1', metadata: { a: 'b' } });
    expect(event.type === 'sandbox.lifecycle.updated' && event.endAt).toEqual(
      new Date('2026-01-02T04:00:00Z'),
    );
  });

  it('takes headers of every kind, in any case, and bodies as bytes', async () => {
    const headers = await webhooks.sign({ body, secret, timestamp: now, id: 'm1' });
    const upper = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]),
    );
    const bytes = new TextEncoder().encode(body);
    for (const kind of [
      new Headers(headers),
      upper,
      Object.entries(headers),
      { ...headers, 'x-more': ['a', 'b'] },
    ]) {
      expect((await webhooks.verify(bytes, kind as never, secret, { now })).id).toBe('m1');
    }
    expect((await webhooks.verify(bytes.buffer, headers, secret, { now })).timestamp).toEqual(now);
  });

  it('takes one of several secrets, and several signatures', async () => {
    const headers = await webhooks.sign({ body, secret, timestamp: now });
    const both = { ...headers, 'webhook-signature': `v1a,xx v1,AAAA ${headers['webhook-signature']}` };
    await webhooks.verify(body, both, ['another-secret', secret], { now });
  });

  it('decodes a secret that begins with whsec_', async () => {
    const headers = await webhooks.sign({ body, secret: `whsec_${btoa(secret)}`, timestamp: now });
    await webhooks.verify(body, headers, secret, { now });
  });

  it('agrees with the example of Standard Webhooks', async () => {
    const headers = await webhooks.sign({
      body: '{"test": 2432232314}',
      secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
      id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      timestamp: new Date(1614265330_000),
    });
    expect(headers['webhook-signature']).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
  });
});

describe('a delivery that cannot be verified', () => {
  const attempt = async (change: {
    body?: unknown;
    headers?: Record<string, string | undefined>;
    secret?: string;
    now?: Date;
  }) => {
    const signed = await webhooks.sign({ body, secret, timestamp: now });
    const failure = await webhooks
      .unwrap((change.body ?? body) as string, { ...signed, ...change.headers }, change.secret ?? secret, {
        now: change.now ?? now,
      })
      .then(
        () => undefined,
        (error: unknown) => error,
      );
    expect(WebhookVerificationError.is(failure)).toBe(true);
    return (failure as Error).message;
  };

  it.each([
    [
      'a wrong secret',
      { secret: 'not-the-secret-of-this-webhook-at-all' },
      /secret is not the signatureSecret of this webhook/,
    ],
    ['no secret', { secret: '' }, /No webhook secret was given/],
    ['a parsed body', { body: JSON.parse(body) }, /not a parsed object/],
    [
      'a body that was written again',
      { body: JSON.stringify(JSON.parse(body), null, 2) },
      /parsed and written again/,
    ],
    ['a body with a line end too many', { body: `${body}\n` }, /parsed and written again/],
    ['a body that was changed', { body: body.replace('s1', 's2') }, /does not match/],
    ['an old delivery', { now: new Date(now.getTime() + 301_000) }, /301 s old; at most 300 s/],
    ['a clock that is behind', { now: new Date(now.getTime() - 400_000) }, /clock is behind/],
    [
      'a header that is missing',
      { headers: { 'webhook-timestamp': undefined } },
      /webhook-timestamp is missing, though others/,
    ],
    ['a time that is none', { headers: { 'webhook-timestamp': 'soon' } }, /not a Unix time/],
    ['an unknown version', { headers: { 'webhook-signature': 'v9,AAAA' } }, /no signature of version v1/],
    ['a secret that is not base64', { secret: 'whsec_***' }, /not base64/],
  ])('says so: %s', async (_, change, message) => {
    const text = await attempt(change as never);
    expect(text).toMatch(message);
    expect(text).not.toContain(secret);
  });

  it('says that nothing of it is there when no header is', async () => {
    await expect(webhooks.verify(body, {}, secret)).rejects.toThrow(/this is no delivery of the service/);
  });
});
