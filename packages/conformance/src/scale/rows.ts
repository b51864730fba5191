import { randomUUID } from 'node:crypto';
import type { Server } from '@svc/server';

/** Text for a column of JSON, whose type the server keeps to itself. */
const json = (value: object) => JSON.stringify(value) as never;

/** Rows written at once: SQLite takes so many values in one statement. */
const BATCH = 200;

/** Fills the store with records of a team as if it had run sandboxes for long. They are paused: nobody looks for them. */
export async function fillRows(
  server: Server,
  teamId: string,
  sandboxId: string,
  count: number,
): Promise<void> {
  const { db, config } = server.context;
  const template = await db
    .selectFrom('template_builds')
    .select(['id', 'template_id'])
    .executeTakeFirstOrThrow();
  const now = Date.now();
  for (let done = 0; done < count; done += BATCH) {
    const indexes = Array.from({ length: Math.min(BATCH, count - done) }, (_, index) => done + index);
    await db.transaction().execute(async (tx) => {
      await tx
        .insertInto('sandboxes')
        .values(
          indexes.map((index) => ({
            id: `i${randomUUID().replaceAll('-', '').slice(0, 20)}`,
            team_id: teamId,
            template_id: template.template_id,
            build_id: template.id,
            execution_id: randomUUID(),
            alias: 'base',
            state: 'paused' as const,
            view: 'paused' as const,
            version: 1,
            node_id: config.nodeId,
            instance_id: null,
            checkpoint_id: null,
            paused_memory: 0,
            daemon_generation: 0,
            created_at: now - index * 10,
            started_at: now - index * 10,
            end_at: now,
            paused_at: now,
            timeout_seconds: 300,
            cpu_count: 1,
            memory_mb: 256,
            disk_mb: 512,
            envd_version: config.envdVersion,
            metadata: null,
            config: json({
              allowInternetAccess: null,
              autoPause: false,
              autoPauseMemory: true,
              autoResume: false,
              mounts: [],
              defaultUser: 'user',
              defaultWorkdir: null,
              startCommand: null,
              layers: [],
            }),
            encrypted_secrets: null,
          })),
        )
        .execute();
      await tx
        .insertInto('events')
        .values(
          indexes.map((index) => ({
            id: randomUUID(),
            team_id: teamId,
            sandbox_id: sandboxId,
            execution_id: randomUUID(),
            template_id: template.template_id,
            build_id: template.id,
            type: 'sandbox.lifecycle.updated',
            at: now - index,
            data: json({}),
            dispatched: 1,
          })),
        )
        .execute();
      await tx
        .insertInto('sandbox_logs')
        .values(
          indexes.map((index) => ({
            sandbox_id: sandboxId,
            team_id: teamId,
            seq: index + 1,
            at: now - index,
            level: 1,
            message: `line ${index}`,
            fields: json({}),
          })),
        )
        .execute();
    });
  }
}
