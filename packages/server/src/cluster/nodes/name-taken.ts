const TEXTS = {
  running:
    'another process has taken its name, or an operator has removed it. This server serves nothing any more: stop it. ' +
    'If its data directory is a copy of the other one, delete the file node-id in it before it starts again',
  alive:
    'a server with that name runs on another machine or in another data directory. ' +
    'If this data directory is a copy, delete the file node-id in it and start again',
  copy:
    'it was started elsewhere after this data directory was copied. Delete the file node-id to run as a node of its own; ' +
    'if no other machine has that name any more, delete the file node-epoch instead',
};

/** Another process has the name of this node. */
export class NodeNameTakenError extends Error {
  override readonly name = 'NodeNameTakenError';

  constructor(nodeId: string, how: keyof typeof TEXTS) {
    super(`this server cannot be node ${nodeId}: ${TEXTS[how]}`);
  }
}
