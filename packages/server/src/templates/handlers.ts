import type { PartialHandlers } from '../api/handler.js';
import { filesLink, uploadFiles } from './builds/files/upload.js';
import { startBuild } from './builds/start.js';
import { buildLogs, buildStatus } from './builds/status.js';
import type { TemplatesContext } from './context.js';
import { createTemplate } from './create.js';
import { deleteTemplate } from './delete.js';
import { getAlias, getTemplate } from './get.js';
import { listAllTemplates, listTemplates } from './list.js';
import { assignTags, deleteTags, listTags } from './tags.js';
import { updateTemplate } from './update.js';

export const templateHandlers = {
  createTemplate: async ({ context, team, body }) => ({
    status: 202,
    body: await createTemplate(context, team, body),
  }),
  listTemplates: async ({ context, team }) => ({ status: 200, body: await listAllTemplates(context, team) }),
  listTemplatesV2: async ({ context, team, query }) => ({
    status: 200,
    ...(await listTemplates(context, team, query)),
  }),
  getTemplate: async ({ context, team, params, query }) => ({
    status: 200,
    ...(await getTemplate(context, team, params.templateID, query)),
  }),
  updateTemplate: async ({ context, team, params, body }) => {
    await updateTemplate(context, team, params.templateID, body, true);
    return { status: 200, body: {} };
  },
  updateTemplateV2: async ({ context, team, params, body }) => ({
    status: 200,
    body: { names: await updateTemplate(context, team, params.templateID, body, false) },
  }),
  deleteTemplate: async ({ context, team, params }) => {
    await deleteTemplate(context, team, params.templateID);
    return { status: 204 };
  },
  getTemplateAlias: async ({ context, team, params }) => ({
    status: 200,
    body: await getAlias(context, team, params.alias),
  }),

  assignTemplateTags: async ({ context, team, body }) => ({
    status: 201,
    body: await assignTags(context, team, body),
  }),
  deleteTemplateTags: async ({ context, team, body }) => {
    await deleteTags(context, team, body);
    return { status: 204 };
  },
  listTemplateTags: async ({ context, team, params }) => ({
    status: 200,
    body: await listTags(context, team, params.templateID),
  }),

  getTemplateFilesLink: async ({ context, team, params }) => ({
    status: 201,
    body: await filesLink(context, team, params.templateID, params.hash),
  }),
  uploadTemplateFiles: async ({ context, params, body, signal }) => {
    await uploadFiles(context, params.token, body, signal);
    return { status: 204 };
  },
  startTemplateBuild: async ({ context, team, params, body }) => {
    await startBuild(context, team, params.templateID, params.buildID, body);
    return { status: 202 };
  },
  getTemplateBuildStatus: async ({ context, team, params, query }) => ({
    status: 200,
    body: await buildStatus(context, team, params.templateID, params.buildID, query),
  }),
  getTemplateBuildLogs: async ({ context, team, params, query }) => ({
    status: 200,
    body: await buildLogs(context, team, params.templateID, params.buildID, query),
  }),
} satisfies PartialHandlers<TemplatesContext>;
