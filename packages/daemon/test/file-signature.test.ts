import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { signFilePath } from '../src/index.js';

const digest = (text: string) => createHash('sha256').update(text).digest('base64').replaceAll('=', '');

describe('the signature of a file URL', () => {
  it('covers path, operation, user and token', async () => {
    const signature = await signFilePath({
      path: 'a b/ü.txt',
      operation: 'read',
      user: 'ann',
      accessToken: 'token',
    });
    expect(signature).toBe(`v1_${digest('a b/ü.txt:read:ann:token')}`);
  });

  it('leaves an absent user empty and appends an expiration, zero included', async () => {
    const signature = await signFilePath({
      path: '',
      operation: 'write',
      accessToken: 'token',
      expiration: 0,
    });
    expect(signature).toBe(`v1_${digest(':write::token:0')}`);
  });

  it('has 43 characters of base64 without padding, and depends on the operation', async () => {
    const options = {
      path: '/home/user/x',
      operation: 'read',
      accessToken: 'token',
      expiration: 1_700_000_000,
    } as const;
    expect(await signFilePath(options)).toMatch(/^v1_[A-Za-z0-9+/]{43}$/);
    expect(await signFilePath(options)).not.toBe(await signFilePath({ ...options, operation: 'write' }));
  });
});
