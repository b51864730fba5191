// Sandboxes as tools of the Model Context Protocol.
export { ToolSandboxes, type ToolSandboxesOptions } from '../tool-sandboxes.js';
export { createMcpServer, type McpToolsOptions } from './create-mcp-server.js';
export { type McpHttpServer, type ServeHttpOptions, serveHttp } from './serve-http.js';
export { serveStdio } from './serve-stdio.js';
