import type {
  TemplateBuildInfo,
  TemplateBuildStartV2,
  TemplateWithBuilds,
  TemplateBuild as WireBuild,
  BuildLogEntry as WireLogEntry,
  TemplateTag as WireTag,
  Template as WireTemplate,
} from '@svc/platform';
import { defined } from '../core/wire-values.js';
import type { TemplateDefinition } from './definition.js';
import type {
  BuildInfo,
  BuildLogEntry,
  BuildState,
  TemplateDetail,
  TemplateInfo,
  TemplateTag,
} from './template-info.js';

const toDate = (text: string | null | undefined): Date | undefined =>
  text === null || text === undefined ? undefined : new Date(text);

/** One item of the list. */
export function fromTemplate(template: WireTemplate): TemplateInfo {
  return {
    buildId: template.buildID,
    buildStatus: template.buildStatus,
    cpuCount: template.cpuCount,
    memoryMiB: template.memoryMB,
    diskMiB: template.diskSizeMB,
    ...fromNamed(template),
    buildCount: template.buildCount,
    envdVersion: template.envdVersion,
    createdBy: template.createdBy ?? undefined,
  };
}

/** Returns the facts that an answer about one template and a list have in common. */
function fromNamed(template: WireTemplate | TemplateWithBuilds) {
  return {
    templateId: template.templateID,
    public: template.public,
    aliases: template.aliases,
    names: template.names,
    createdAt: new Date(template.createdAt),
    updatedAt: new Date(template.updatedAt),
    lastSpawnedAt: toDate(template.lastSpawnedAt),
    spawnCount: template.spawnCount,
  };
}

/** One build. */
export function fromBuild(build: WireBuild): BuildInfo {
  return {
    buildId: build.buildID,
    status: build.status,
    createdAt: new Date(build.createdAt),
    updatedAt: new Date(build.updatedAt),
    finishedAt: toDate(build.finishedAt),
    cpuCount: build.cpuCount,
    memoryMiB: build.memoryMB,
    diskMiB: build.diskSizeMB,
    envdVersion: build.envdVersion,
  };
}

/** A template and a page of its builds. */
export function fromTemplateWithBuilds(
  template: TemplateWithBuilds,
  nextToken: string | undefined,
): TemplateDetail {
  return {
    ...fromNamed(template),
    builds: template.builds.map(fromBuild),
    nextToken,
  };
}

/** One tag. */
export function fromTag({ tag, buildID, createdAt }: WireTag): TemplateTag {
  return { tag, buildId: buildID, createdAt: new Date(createdAt) };
}

/** One entry of a build's log. */
export function fromBuildLogEntry({ timestamp, level, message, step }: WireLogEntry): BuildLogEntry {
  return { timestamp: new Date(timestamp), level, message, step };
}

/** Returns the state of a build. */
export function fromBuildStatus({ templateID, buildID, status, reason }: TemplateBuildInfo): BuildState {
  return {
    templateId: templateID,
    buildId: buildID,
    status,
    reason: reason && {
      message: reason.message,
      step: reason.step,
      logEntries: (reason.logEntries ?? []).map(fromBuildLogEntry),
    },
  };
}

/** The body that starts a build. `hashes` belong to the steps, undefined where there are no files. */
export function toBuildStart(
  definition: TemplateDefinition,
  hashes: readonly (string | undefined)[],
  force: boolean | undefined,
): TemplateBuildStartV2 {
  const { base, steps, startCommand, readyCommand } = definition;
  return defined({
    fromTemplate: 'template' in base ? base.template : undefined,
    fromImage: 'image' in base ? base.image : undefined,
    fromImageRegistry: 'image' in base ? base.registry : undefined,
    force,
    steps: steps.map((step, index) =>
      defined({
        type: step.type,
        args: [...step.args],
        filesHash: hashes[index],
        force: step.force || undefined,
      }),
    ),
    startCmd: startCommand,
    readyCmd: readyCommand,
  });
}
