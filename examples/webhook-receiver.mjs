// Receives lifecycle events, verifies each delivery, and prints what happened.
import { createServer } from 'node:http';
import { Client, webhooks } from '@svc/sdk';

const secret = 'a-signing-secret-of-at-least-32-characters';
const wanted = new Set(['sandbox.lifecycle.created', 'sandbox.lifecycle.killed']);
let allArrived;
const finished = new Promise((resolve) => {
  allArrived = resolve;
});

const receiver = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  try {
    const event = await webhooks.unwrap(Buffer.concat(chunks).toString(), request.headers, secret);
    console.log(`verified: ${event.type}`);
    wanted.delete(event.type);
    response.writeHead(204).end();
  } catch (error) {
    console.log(`refused: ${error.message}`);
    response.writeHead(400).end();
  }
  if (wanted.size === 0) allArrived();
});
await new Promise((resolve) => receiver.listen(0, '127.0.0.1', resolve));

const client = new Client();
const webhook = await client.webhooks.create({
  name: 'example',
  url: `http://127.0.0.1:${receiver.address().port}/events`,
  events: [...wanted],
  signatureSecret: secret,
});

const sandbox = await client.sandboxes.create();
await sandbox.kill();
await finished;

await client.webhooks.delete(webhook.id);
receiver.close();
