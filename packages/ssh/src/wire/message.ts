/** Numbers of messages (RFC 4253, 4252, 4254). */
export const message = {
  disconnect: 1,
  ignore: 2,
  unimplemented: 3,
  debug: 4,
  serviceRequest: 5,
  serviceAccept: 6,
  keyExchangeInit: 20,
  newKeys: 21,
  ecdhInit: 30,
  ecdhReply: 31,
  authRequest: 50,
  authFailure: 51,
  authSuccess: 52,
  authBanner: 53,
  globalRequest: 80,
  requestFailure: 82,
  channelOpen: 90,
  channelOpenConfirmation: 91,
  channelOpenFailure: 92,
  channelWindowAdjust: 93,
  channelData: 94,
  channelExtendedData: 95,
  channelEof: 96,
  channelClose: 97,
  channelRequest: 98,
  channelSuccess: 99,
  channelFailure: 100,
} as const;

/** Reasons of a disconnection (RFC 4253, 11.1). */
export const disconnectReason = {
  protocolError: 2,
  keyExchangeFailed: 3,
  byApplication: 11,
  noMoreAuthMethods: 14,
} as const;

/** Reasons why a channel is not opened (RFC 4254, 5.1). */
export const openFailure = {
  prohibited: 1,
  connectFailed: 2,
  unknownType: 3,
  resourceShortage: 4,
} as const;
