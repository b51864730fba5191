import { expect, it } from 'vitest';
import { redactHeaders, redactUrl } from '../../src/core/redact.js';

it.each([
  'X-API-Key',
  'Authorization',
  'Proxy-Authorization',
  'X-Access-Token',
  'Svc-Traffic-Access-Token',
  'Cookie',
  'Set-Cookie',
  'Svc-Signature',
  'Webhook-Signature',
])('shows no value of the header %s', (name) => {
  const shown = redactHeaders(new Headers({ [name]: 'hidden', Accept: 'text/plain' }));
  expect(shown).toEqual({ [name.toLowerCase()]: '[redacted]', accept: 'text/plain' });
});

it.each(['signature', 'token', 'access_token', 'API_KEY', 'svc_preview'])(
  'shows no value of the parameter %s in an address',
  (name) => {
    const shown = redactUrl(`https://x.example/files?path=a&${name}=hidden&${name}=hidden`);
    expect(shown).not.toContain('hidden');
    expect(shown).toContain('path=a');
  },
);

it('shows no password, and no token of an upload link', () => {
  expect(redactUrl('https://user:hidden@x.example/a')).toBe('https://user:redacted@x.example/a');
  expect(redactUrl('https://x.example/templates/uploads/hidden?a=1')).toBe(
    'https://x.example/templates/uploads/redacted?a=1',
  );
});

it('shows nothing after the path of what is no address', () => {
  expect(redactUrl('not an address?token=hidden')).toBe('not an address?[redacted]');
});
