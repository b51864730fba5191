import { signFilePath } from '@svc/daemon';
import { describe, expect, it } from 'vitest';
import { ownTokenFor, resignedUrl } from '../../src/gateway/daemon-credentials.js';
import { ask, Fixture, reply, to } from './fixture.js';

const credentials = { clientToken: 'c'.repeat(64), ownToken: 'd'.repeat(64) };
const sign = (accessToken: string, expiration?: number, user?: string) =>
  signFilePath({
    path: '/a b/c&d',
    operation: 'read',
    accessToken,
    ...(expiration === undefined ? {} : { expiration }),
    ...(user === undefined ? {} : { user }),
  });
const target = (fields: Record<string, string>) =>
  `/files?${new URLSearchParams({ path: '/a b/c&d', ...fields })}`;

describe('credentials for the daemon', () => {
  it('a client token becomes the daemon token, anything else nothing that opens anything', () => {
    expect(ownTokenFor(credentials.clientToken, credentials)).toBe(credentials.ownToken);
    for (const wrong of [credentials.ownToken, '', 'x', `${credentials.clientToken}, x`])
      expect(ownTokenFor(wrong, credentials)).toBe('wrong');
  });

  it.each([
    ['a plain one', {}],
    ['one with a user', { username: 'root' }],
    ['one with an expiry', { signature_expiration: '123' }],
    ['one with a user and an expiry', { username: 'root', signature_expiration: '1999999999' }],
  ])('a signature is made anew, byte for byte beside it: %s', async (_name, more: Record<string, string>) => {
    const expiration =
      more.signature_expiration === undefined ? undefined : Number(more.signature_expiration);
    const given = target({
      ...more,
      signature: await sign(credentials.clientToken, expiration, more.username),
    });
    const own = await sign(credentials.ownToken, expiration, more.username);
    expect(resignedUrl('GET', given, credentials)).toBe(
      given.replace(/signature=[^&]*$/, `signature=${encodeURIComponent(own)}`),
    );
    // The other operation was not signed for.
    expect(resignedUrl('POST', given, credentials)).toMatch(/signature=wrong$/);
  });

  it('a signature by the daemon token, of another path, or a second one, opens nothing', async () => {
    const own = target({ signature: await sign(credentials.ownToken) });
    expect(resignedUrl('GET', own, credentials)).toMatch(/signature=wrong$/);
    const good = await sign(credentials.clientToken);
    expect(
      resignedUrl('GET', `/files?path=/other&signature=${encodeURIComponent(good)}`, credentials),
    ).toMatch(/signature=wrong$/);
    const twice = resignedUrl('GET', `${target({ signature: good })}&%73ignature=x`, credentials);
    expect(twice).not.toContain(good);
    expect(twice).not.toContain('%73ignature');
  });

  it('targets without a signature are left alone', () => {
    for (const url of ['/', '/envs', '/files?path=%2Fa', '/x?%zz', '/x?'])
      expect(resignedUrl('GET', url, credentials)).toBe(url);
  });

  it('no program in a sandbox gets to see a client token, the daemon included', async () => {
    await using fixture = await Fixture.open();
    const sandbox = fixture.add('abc', { daemon: credentials });
    for (const port of [80, 49_983])
      await fixture.serve(sandbox, port, (request, response) =>
        reply(response, 200, `${request.url} ${request.headers['x-access-token']}`),
      );
    const seen = async (port: number, token: string) =>
      (await ask(fixture.port, { headers: { ...to('abc', port), 'X-Access-Token': token }, path: '/envs' }))
        .body;
    expect(await seen(49_983, credentials.clientToken)).toBe(`/envs ${credentials.ownToken}`);
    expect(await seen(49_983, 'of-another-sandbox')).toBe('/envs wrong');
    expect(await seen(80, credentials.clientToken)).toBe('/envs undefined');
    expect(await seen(80, "the program's own")).toBe("/envs the program's own");
  });
});
