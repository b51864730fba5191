import { describe, expect, it } from 'vitest';
import { createPlatformClient, createVolumesClient, serializePath } from '../src/index.js';

function clientThatRecords() {
  const requests: Request[] = [];
  const fetch = async (request: Request) => {
    requests.push(request);
    return new Response(null, { status: 204 });
  };
  return { requests, client: createPlatformClient({ baseUrl: 'http://platform.test/', fetch }), fetch };
}

describe('path parameters', () => {
  it.each(['', '.', '..'])('refuse %j before any request is made', async (sandboxID) => {
    const { client, requests } = clientThatRecords();
    const call = client.DELETE('/sandboxes/{sandboxID}', { params: { path: { sandboxID } } });
    await expect(call).rejects.toThrow(/Path parameter "sandboxID" must not be/);
    expect(requests).toEqual([]);
  });

  it.each([
    ['a/b', 'a%2Fb'],
    ['team/alias', 'team%2Falias'],
    ['team%2Falias', 'team%252Falias'],
    ['%2e%2e', '%252e%252e'],
    ['../other', '..%2Fother'],
    ['a?b#c', 'a%3Fb%23c'],
    ['a b', 'a%20b'],
    ['...', '...'],
    ['наш', '%D0%BD%D0%B0%D1%88'],
  ])('send %j as the one segment %j', async (templateID, segment) => {
    const { client, requests } = clientThatRecords();
    await client.GET('/templates/{templateID}', { params: { path: { templateID } } });
    expect(requests[0]!.url).toBe(`http://platform.test/templates/${segment}`);
    expect(decodeURIComponent(new URL(requests[0]!.url).pathname.split('/')[2]!)).toBe(templateID);
  });

  it.each([undefined, null, {}, true])('refuse %j, which is no name of anything', (value) => {
    expect(() => serializePath('/sandboxes/{sandboxID}', { sandboxID: value })).toThrow(TypeError);
  });

  it('refuse text that is not Unicode', () => {
    expect(() => serializePath('/sandboxes/{sandboxID}', { sandboxID: '\ud800' })).toThrow(/well-formed/);
  });

  it('are guarded in the volume client as well', async () => {
    const { fetch, requests } = clientThatRecords();
    const client = createVolumesClient({ baseUrl: 'http://volumes.test', token: 't', fetch });
    const params = { path: { volumeID: '..' }, query: { path: '/x' } };
    await expect(client.GET('/volumecontent/{volumeID}/path', { params })).rejects.toThrow(/volumeID/);
    expect(requests).toEqual([]);
  });
});
