import type { components } from '@svc/platform';
import { Refusal } from '../answers/refusal.js';
import type { Handlers } from './handler.js';
import { readReference } from './references.js';
import { pageOf } from './wire-lists.js';
import { daemonVersion, type TemplateBuildRecord, type TemplateRecord, type World } from './world.js';

type Schemas = components['schemas'];

/** Templates as far as they are looked up and deleted, and snapshots. Builds are not played. */
export const templateHandlers = {
  listTemplates: ({ world }) => ({ status: 200, body: ownTemplates(world).map(templateToWire) }),
  listTemplatesV2({ world, query }) {
    const { limit = 100, nextToken } = query;
    const { items, headers } = pageOf(ownTemplates(world), placeOf, { limit, nextToken });
    return { status: 200, headers, body: items.map(templateToWire) };
  },
  getTemplate({ world, params, query }) {
    const template = ownTemplate(world, params.templateID);
    const { limit = 100, nextToken } = query;
    const { items, headers } = pageOf(template.builds, placeOf, { limit, nextToken });
    const { buildID: _, ...shared } = templateToWire(template);
    const {
      templateID,
      public: open,
      aliases,
      names,
      createdAt,
      updatedAt,
      lastSpawnedAt,
      spawnCount,
    } = shared;
    const builds = items.map(buildToWire);
    const facts = { aliases, names, createdAt, updatedAt, lastSpawnedAt, spawnCount, builds };
    return { status: 200, headers, body: { templateID, public: open, ...facts } };
  },
  getTemplateAlias({ world, params }) {
    const { id, public: open } = ownTemplate(world, params.alias);
    return { status: 200, body: { templateID: id, public: open } };
  },
  deleteTemplate({ world, params }) {
    const template = ownTemplate(world, params.templateID);
    if (template.namespace === '' && template.kind === 'template')
      throw new Refusal(403, 'the template belongs to the service and cannot be changed');
    const used = [...world.sandboxes.values()].filter(({ templateId }) => templateId === template.id).length;
    if (used > 0)
      throw new Refusal(
        400,
        `the template cannot be deleted: ${used} running or paused sandboxes stand on it`,
      );
    world.templates.delete(template.id);
    return { status: 204 };
  },

  createSnapshot({ world, params, body }) {
    const reference = body?.name === undefined ? undefined : readReference(body.name);
    if (reference?.namespace !== undefined && reference.namespace !== world.team.slug)
      throw new Refusal(400, `the namespace of a snapshot must be that of the team, '${world.team.slug}'`);
    const sandbox = world.sandboxOf(params.sandboxID);
    if (sandbox.state === 'paused') throw new Refusal(409, `sandbox ${sandbox.id} is paused`);
    const tag = reference?.tag ?? 'default';
    const createdMs = world.clock.nowMs;
    const build: TemplateBuildRecord = {
      id: world.uuid(),
      tags: [tag],
      createdMs,
      source: { sandboxId: sandbox.id, settings: sandbox.settings },
      files: sandbox.files.copy(),
    };
    const existing = reference && world.findTemplate({ namespace: world.team.slug, alias: reference.alias });
    const template: TemplateRecord = existing ?? {
      id: `snap${world.id(16)}`,
      kind: 'snapshot',
      namespace: world.team.slug,
      aliases: reference ? [reference.alias] : [],
      createdMs,
      public: false,
      builds: [],
      spawnCount: 0,
      lastSpawnedMs: undefined,
    };
    // A tag is moved to the newest build.
    const older = template.builds.map((each) => ({
      ...each,
      tags: each.tags.filter((name) => name !== tag),
    }));
    world.templates.set(template.id, { ...template, builds: [build, ...older] });
    return { status: 201, body: snapshotToWire(template, tag) };
  },

  listSnapshots({ world, query }) {
    const reference = query.name === undefined ? undefined : readReference(query.name);
    const wantsTag = query.name?.includes(':') === true;
    const found = [...world.templates.values()].flatMap((template) =>
      template.builds.flatMap((build) =>
        build.tags.flatMap((tag) => {
          const fits =
            build.source !== undefined &&
            (query.sandboxID === undefined || build.source.sandboxId === query.sandboxID) &&
            (reference === undefined ||
              (template.aliases.includes(reference.alias) &&
                (reference.namespace ?? template.namespace) === template.namespace &&
                (!wantsTag || reference.tag === tag)));
          return fits ? [{ template, build, tag }] : [];
        }),
      ),
    );
    const { limit = 100, nextToken } = query;
    const { items, headers } = pageOf(found, ({ build }) => placeOf(build), { limit, nextToken });
    return { status: 200, headers, body: items.map(({ template, tag }) => snapshotToWire(template, tag)) };
  },
} satisfies Handlers;

const placeOf = ({ createdMs, id }: { createdMs: number; id: string }) => ({ atMs: createdMs, id });

const ownTemplates = (world: World) =>
  [...world.templates.values()].filter(({ kind, namespace }) => kind === 'template' && namespace !== '');

/** @throws Refusal 400, 404 */
function ownTemplate(world: World, text: string): TemplateRecord {
  const template = world.findTemplate(readReference(text));
  if (!template) throw new Refusal(404, `template '${text.slice(0, 200)}' not found`);
  return template;
}

function snapshotToWire({ id, namespace, aliases }: TemplateRecord, tag: string): Schemas['SnapshotInfo'] {
  const name = aliases[0] === undefined ? undefined : `${namespace}/${aliases[0]}:${tag}`;
  return { snapshotID: name ?? `${id}:${tag}`, names: name === undefined ? [] : [name] };
}

const machine = { cpuCount: 2, memoryMB: 512, diskSizeMB: 0, envdVersion: daemonVersion };

function buildToWire({ id, createdMs }: TemplateBuildRecord): Schemas['TemplateBuild'] {
  const at = new Date(createdMs).toISOString();
  return { buildID: id, status: 'ready', createdAt: at, updatedAt: at, finishedAt: at, ...machine };
}

function templateToWire(template: TemplateRecord): Schemas['Template'] {
  const { id, namespace, aliases, createdMs, builds, spawnCount, lastSpawnedMs } = template;
  const [newest] = builds;
  const at = new Date(createdMs).toISOString();
  return {
    templateID: id,
    buildID: newest?.id ?? id,
    ...machine,
    public: template.public,
    aliases: [...aliases],
    names: namespace === '' ? [] : aliases.map((alias) => `${namespace}/${alias}`),
    createdAt: at,
    updatedAt: new Date(newest?.createdMs ?? createdMs).toISOString(),
    createdBy: null,
    lastSpawnedAt: lastSpawnedMs === undefined ? null : new Date(lastSpawnedMs).toISOString(),
    spawnCount,
    buildCount: builds.length,
    buildStatus: 'ready',
  };
}
