import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { eventually } from '@svc/support/eventually';
import { describeOnServer } from '@svc/support/testing/on-server';
import { expect, it } from 'vitest';
import {
  AuthenticationError,
  ConflictError,
  InvalidRequestError,
  type LifecycleEvent,
  SecretNotFoundError,
  VolumeNotFoundError,
  WebhookNotFoundError,
  webhooks,
} from '../../src/index.js';

const unknownId = '3f8f0a3e-6c1b-4b59-9b0e-0f8f4d5b7a11';

describeOnServer('the resources of a team', (fixture) => {
  it('keeps secrets: create, read, list, update, delete', async () => {
    const { secrets } = fixture.client();
    const created = await secrets.create({
      name: 'Api-Key',
      value: 'first-value',
      metadata: { owner: 'tests' },
    });
    expect(created).toMatchObject({ name: 'api-key', currentVersion: 1, metadata: { owner: 'tests' } });
    expect(created.createdAt).toBeInstanceOf(Date);
    await expect(secrets.create({ name: 'api-key', value: 'again' })).rejects.toThrow(ConflictError);
    const updated = await secrets.update('api-key', { value: 'second-value' });
    expect(updated).toMatchObject({
      secretId: created.secretId,
      currentVersion: 2,
      metadata: { owner: 'tests' },
    });
    await secrets.create({ name: 'second', value: 'x' });
    const names: string[] = [];
    for await (const secret of secrets.list({ limit: 1 })) names.push(secret.name);
    expect(names.sort()).toEqual(['api-key', 'second']);
    expect(await secrets.get(created.secretId)).toEqual(updated);
    expect(await secrets.delete('api-key')).toBe(true);
    expect(await secrets.delete('api-key')).toBe(false);
    await expect(secrets.get('api-key')).rejects.toThrow(SecretNotFoundError);
    // Longer than what an identifier may hold by chance.
    expect(JSON.stringify(await secrets.list())).not.toContain('second-value');
  });

  it('keeps volumes and what is in them', async () => {
    const { volumes } = fixture.client();
    const volume = await volumes.create('data-1');
    await expect(volumes.create('data-1')).rejects.toThrow(InvalidRequestError);
    expect((await volumes.list()).map(({ name }) => name)).toContain('data-1');
    expect(await volume.makeDir('/in/here', { force: true })).toMatchObject({
      type: 'directory',
      path: '/in/here',
    });
    await expect(volume.makeDir('/in/here')).rejects.toThrow(ConflictError);
    const bytes = Uint8Array.from({ length: 300_000 }, (_, index) => (index * 31) % 251);
    const file = await volume.write('/in/here/blob', new Blob([bytes]).stream());
    expect(file).toMatchObject({ type: 'file', sizeBytes: bytes.length, mode: 0o644 });
    const again = await volumes.get(volume.volumeId);
    expect(await again.read('/in/here/blob', { format: 'bytes' })).toEqual(bytes);
    expect(await new Response(await again.read('in/here/blob', { format: 'stream' })).arrayBuffer()).toEqual(
      bytes.buffer,
    );
    await expect(volume.write('/in/here/blob', 'text')).rejects.toThrow(ConflictError);
    await volume.write('/in/here/blob', 'grün', { force: true, mode: 0o600 });
    expect(await volume.read('/in/here/blob')).toBe('grün');
    expect((await volume.stat('/in/here/blob')).mode).toBe(0o600);
    expect((await volume.update('/in/here/blob', { mode: 0o640 })).mode).toBe(0o640);
    await volume.write('/empty', '');
    expect(await volume.read('/empty')).toBe('');
    expect((await volume.list('/', { depth: 3 })).map(({ path }) => path)).toEqual([
      '/empty',
      '/in',
      '/in/here',
      '/in/here/blob',
    ]);
    const missing = await volume.read('/nope').catch((error: unknown) => error);
    expect(VolumeNotFoundError.is(missing)).toBe(true);
    expect(missing).toMatchObject({ errorCode: 'path_not_found', status: 404 });
    expect(await volume.exists('/nope')).toBe(false);
    expect(await volume.remove('/in')).toBe(true);
    expect(await volume.remove('/in')).toBe(false);
    await expect(volume.remove('/')).rejects.toThrow(InvalidRequestError);
    expect(await volumes.delete(volume.volumeId)).toBe(true);
    expect(await volumes.delete(volume.volumeId)).toBe(false);
    await expect(volumes.get(unknownId)).rejects.toThrow(VolumeNotFoundError);
  });

  it('mounts a volume into a sandbox', async (context) => {
    const client = fixture.client();
    const volume = await client.volumes.create('mounted');
    await volume.write('/from-outside', 'hello');
    if (!fixture.server.driver.capabilities.mounts)
      context.skip(`the ${fixture.driver} driver has no mounts`);
    await using sandbox = await client.sandboxes.create({ volumeMounts: { '/data': volume } });
    expect(await sandbox.files.read('/data/from-outside')).toBe('hello');
    await sandbox.commands.run('echo back > /data/from-inside', { user: 'root' });
    expect(await volume.read('/from-inside')).toBe('back\n');
  });

  it('sends events to webhooks, verifiably, and keeps what was sent', async () => {
    const client = fixture.client();
    const secret = 'a-signing-secret-of-at-least-32-characters';
    const received: { body: string; headers: Record<string, string | string[] | undefined> }[] = [];
    const receiver = createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request) body += chunk;
      received.push({ body, headers: request.headers });
      response.writeHead(204).end();
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    try {
      const { port } = receiver.address() as AddressInfo;
      const webhook = await client.webhooks.create({
        name: 'tests',
        url: `http://127.0.0.1:${port}/events`,
        events: ['sandbox.lifecycle.created', 'sandbox.lifecycle.killed'],
        signatureSecret: secret,
      });
      expect(await client.webhooks.get(webhook.id)).toEqual(webhook);
      expect(await client.webhooks.list()).toContainEqual(webhook);
      const sandbox = await client.sandboxes.create({ metadata: { purpose: 'webhook' } });
      await sandbox.kill();
      await eventually('both deliveries', () => received.length >= 2);
      const events: LifecycleEvent[] = [];
      for (const { body, headers } of received) events.push(await webhooks.unwrap(body, headers, secret));
      const killed = events.find((event) => event.type === 'sandbox.lifecycle.killed');
      expect(killed).toMatchObject({
        sandboxId: sandbox.id,
        killReason: 'request',
        metadata: { purpose: 'webhook' },
      });
      expect(killed?.type === 'sandbox.lifecycle.killed' && killed.execution?.startedAt).toBeInstanceOf(Date);
      await expect(
        webhooks.unwrap(received[0]?.body ?? '', received[0]?.headers ?? {}, `${secret}!`),
      ).rejects.toThrow(/does not match/);
      const deliveries = await eventually('the deliveries are listed', async () => {
        const list = await client.webhooks.deliveries(webhook.id, { limit: 1 }).toArray();
        return list.length >= 2 ? list : undefined;
      });
      expect(deliveries[0]?.attempts[0]).toMatchObject({ status: 'success', responseStatus: 204 });
      const stats = await client.webhooks.stats(webhook.id);
      expect(stats.totals).toMatchObject({ deliveries: 2, succeeded: 2, failed: 0 });
      const [newest] = deliveries;
      const again = await client.webhooks.redeliver(webhook.id, newest!.eventId);
      expect(again).toMatchObject({ eventId: newest!.eventId, status: 'pending' });
      expect(again.attempts).toEqual(newest!.attempts);
      await eventually('the event again', () => received.length >= 3);
      const repeated = received.at(-1)!;
      expect((await webhooks.unwrap(repeated.body, repeated.headers, secret)).id).toBe(newest!.eventId);
      await expect(client.webhooks.redeliver(webhook.id, webhook.id)).rejects.toThrow(
        /was not sent to this webhook/,
      );
      expect((await client.webhooks.update(webhook.id, { enabled: false })).enabled).toBe(false);
      await expect(client.webhooks.redeliver(webhook.id, newest!.eventId)).rejects.toThrow(ConflictError);
      expect(await client.webhooks.delete(webhook.id)).toBe(true);
      expect(await client.webhooks.delete(webhook.id)).toBe(false);
      await expect(client.webhooks.get(webhook.id)).rejects.toThrow(WebhookNotFoundError);

      const history = await client.events.list({ sandboxId: sandbox.id, order: 'asc', limit: 1 }).toArray();
      expect(history.map(({ type }) => type)).toEqual([
        'sandbox.lifecycle.created',
        'sandbox.lifecycle.killed',
      ]);
      const kills = await client.events.list({
        types: ['sandbox.lifecycle.killed', 'sandbox.lifecycle.paused'],
      });
      expect(kills.items.map(({ id }) => id)).toContain(killed?.id);
      expect(kills.items.every(({ type }) => type !== 'sandbox.lifecycle.created')).toBe(true);
    } finally {
      receiver.close();
    }
  });

  it('lists snapshots and deletes them', async (context) => {
    const client = fixture.client();
    await using sandbox = await client.sandboxes.create();
    const snapshot = await sandbox
      .createSnapshot({ name: 'kept', memory: false })
      .catch((error: Error) => error);
    if (snapshot instanceof Error) context.skip(`no snapshots here: ${snapshot.message}`);
    const { snapshotId } = snapshot as { snapshotId: string };
    const listed = await client.snapshots.list({ sandboxId: sandbox.id }).toArray();
    expect(listed.map((each) => each.snapshotId)).toContain(snapshotId);
    expect(await client.snapshots.delete(snapshotId)).toBe(true);
    expect(await client.snapshots.delete(snapshotId)).toBe(false);
  });

  it('asks for the key when a wrong one is used', async () => {
    const { secrets } = fixture.client({ apiKey: `${fixture.server.apiKey.slice(0, -4)}0000` });
    await expect(secrets.list()).rejects.toThrow(AuthenticationError);
  });
});
