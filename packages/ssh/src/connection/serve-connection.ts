import { message, openFailure } from '../wire/message.js';
import { ProtocolError } from '../wire/protocol-error.js';
import { FieldReader } from '../wire/read.js';
import { boolean, byte, nameList, string, uint32 } from '../wire/write.js';
import { Channel, packetBytes, windowBytes } from './channel.js';
import {
  type ForwardTarget,
  readChannelPurpose,
  readSessionRequest,
  type SessionRequest,
} from './requests.js';

/** Channels of one connection that may be open at once. */
const maxChannels = 1000;

/** The layer above the connection. */
export interface ConnectionHandlers {
  /** Decides if this user may enter; the text gives the reason of a refusal. */
  authenticate(user: string): Promise<{ ok: true } | { ok: false; why: string }>;
  /** A session was opened: what handles its requests, whether each succeeded being the answer. */
  openSession(channel: Channel): (request: SessionRequest) => boolean;
  /** Connects to something that listens; gives what joins it with the channel. Throws when it cannot be reached. */
  openForward(to: ForwardTarget): Promise<(channel: Channel) => void>;
  /** The client asked for something that is not there; the answer is no. */
  refused(what: string): void;
}

/** The part of a transport that is used. */
export interface MessageStream {
  messages(): AsyncIterable<Buffer>;
  send(...parts: Buffer[]): void;
  writable(): Promise<void>;
  unimplemented(): void;
}

/** The client was not let in. */
export class NotAllowedError extends Error {
  override readonly name = 'NotAllowedError';
}

/**
 * Serves a client to its end (RFC 4252, 4254): lets it in, opens its channels and hands on what comes for each.
 * @throws {ProtocolError} when it breaks the protocol, {NotAllowedError} when it is not let in
 */
export async function serveConnection(stream: MessageStream, handlers: ConnectionHandlers): Promise<void> {
  const channels = new Map<number, OpenChannel>();
  let entered = false;
  try {
    for await (const payload of stream.messages()) {
      const reader = new FieldReader(payload);
      const kind = reader.byte();
      if (!entered) entered = await letIn(stream, handlers, kind, reader);
      else if (kind === message.globalRequest) answerGlobalRequest(stream, handlers, reader);
      else if (kind === message.channelOpen) openChannel(stream, handlers, channels, reader);
      else if (kind >= message.channelOpenConfirmation && kind <= message.channelFailure)
        handOn(channels, kind, reader);
      // A second request to be let in is to be ignored.
      else if (kind !== message.authRequest) stream.unimplemented();
    }
  } finally {
    for (const { channel } of channels.values()) channel.abandon();
  }
}

interface OpenChannel {
  channel: Channel;
  /** Absent: a stream, which takes no requests. */
  handle?: (request: SessionRequest) => boolean;
}

/** Handles a message before the client was let in. */
async function letIn(
  stream: MessageStream,
  handlers: ConnectionHandlers,
  kind: number,
  reader: FieldReader,
): Promise<boolean> {
  if (kind === message.serviceRequest) {
    const service = reader.text();
    if (service !== 'ssh-userauth') throw new ProtocolError('only the service ssh-userauth can be asked for');
    stream.send(byte(message.serviceAccept), string(service));
    return false;
  }
  if (kind !== message.authRequest) throw new ProtocolError('a message came before the client was let in');
  const user = reader.text();
  if (reader.text() !== 'ssh-connection') throw new ProtocolError('only the service ssh-connection is there');
  if (reader.text() !== 'none') {
    stream.send(byte(message.authFailure), nameList(['none']), boolean(false));
    return false;
  }
  const decision = await handlers.authenticate(user);
  if (!decision.ok) throw new NotAllowedError(decision.why);
  stream.send(byte(message.authSuccess));
  return true;
}

function answerGlobalRequest(stream: MessageStream, handlers: ConnectionHandlers, reader: FieldReader): void {
  const name = reader.text();
  const wantsReply = reader.boolean();
  if (/^(tcpip|streamlocal)-forward/.test(name)) handlers.refused('remote forwarding (-R)');
  if (wantsReply) stream.send(byte(message.requestFailure));
}

function openChannel(
  stream: MessageStream,
  handlers: ConnectionHandlers,
  channels: Map<number, OpenChannel>,
  reader: FieldReader,
): void {
  const type = reader.text();
  const theirs = reader.uint32();
  const window = reader.uint32();
  const maxPacket = reader.uint32();
  if (maxPacket === 0) throw new ProtocolError('a channel takes no data');
  const purpose = readChannelPurpose(type, reader);
  const refuse = (reason: number, why: string) =>
    stream.send(byte(message.channelOpenFailure), uint32(theirs), uint32(reason), string(why), string(''));
  const ours = freeNumber(channels);
  const channel = new Channel(stream, { theirs, window, maxPacket: Math.min(maxPacket, packetBytes) });
  channel.onGone = () => channels.delete(ours);
  const confirm = () =>
    stream.send(
      byte(message.channelOpenConfirmation),
      uint32(theirs),
      uint32(ours),
      uint32(windowBytes),
      uint32(packetBytes),
    );
  if (purpose.kind === 'unknown') refuse(openFailure.unknownType, `there are no channels of type ${type}`);
  else if (channels.size >= maxChannels)
    refuse(openFailure.resourceShortage, `${maxChannels} channels are open`);
  else if (purpose.kind === 'session') {
    channels.set(ours, { channel, handle: handlers.openSession(channel) });
    confirm();
  } else {
    channels.set(ours, { channel });
    handlers.openForward(purpose.to).then(
      (join) => {
        if (!channel.closed.aborted) confirm();
        join(channel);
      },
      (error: Error) => {
        channels.delete(ours);
        refuse(openFailure.connectFailed, error.message);
      },
    );
  }
}

function freeNumber(channels: ReadonlyMap<number, unknown>): number {
  for (let number = 0; ; number += 1) if (!channels.has(number)) return number;
}

/** Hands a message on to its channel. */
function handOn(channels: Map<number, OpenChannel>, kind: number, reader: FieldReader): void {
  const open = channels.get(reader.uint32());
  if (open === undefined) throw new ProtocolError('a message is for a channel that is not open');
  const { channel, handle } = open;
  switch (kind) {
    case message.channelWindowAdjust:
      channel.receiveWindow(reader.uint32());
      break;
    case message.channelData:
      channel.receiveData(reader.string());
      break;
    case message.channelExtendedData:
      throw new ProtocolError('a client has no standard error to send');
    case message.channelEof:
      channel.receiveEof();
      break;
    case message.channelClose:
      channel.receiveClose();
      break;
    case message.channelRequest: {
      const type = reader.text();
      const wantsReply = reader.boolean();
      const succeeded = handle?.(readSessionRequest(type, reader)) ?? false;
      if (wantsReply) channel.answer(succeeded);
      break;
    }
    default:
    // Answers to requests; none was sent that wants one.
  }
}
