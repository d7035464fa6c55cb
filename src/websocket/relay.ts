import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { limits } from '../limits.ts';
import { closeFrame, FrameEnds } from './frame-ends.ts';
import { type PartingCause, restartOf } from './partings.ts';

export interface RelayedSocket {
  readonly client: Duplex;
  /** The 101 of the host that leads, and the connection with it. */
  readonly answer: IncomingMessage;
  readonly leader: Duplex;
  /** Where clients reach that host. */
  readonly leaderAddress: string | undefined;
  readonly closeMillis: number;
  readonly onEnd: (relay: Relay) => void;
}

/**
 * A WebSocket that another host serves: the bytes of both go on as they are, each side no faster
 * than the other takes them. When that host is lost, the client gets a close frame that says so.
 */
export class Relay {
  readonly #socket: RelayedSocket;
  readonly #frames = new FrameEnds();
  #isEnding = false;

  constructor(socket: RelayedSocket) {
    this.#socket = socket;
    const { client, leader, onEnd } = socket;
    client.write(upgradeText(socket), 'latin1');
    leader.on('data', (bytes: Buffer) => {
      this.#frames.push(bytes);
      if (!client.write(bytes)) leader.pause();
    });
    client.on('drain', () => leader.resume());
    client.on('data', (bytes: Buffer) => {
      if (leader.writable && !leader.write(bytes)) client.pause();
    });
    leader.on('drain', () => client.resume());
    client.on('end', () => leader.end());
    client.on('close', () => {
      leader.destroy();
      onEnd(this);
    });
    for (const stream of [client, leader]) stream.on('error', () => stream.destroy());
    leader.on('end', () => this.close('leader'));
    leader.on('close', () => this.close('leader'));
  }

  /** Ends it: with a close frame, if the client has not got one and the last frame is whole. */
  close(cause: PartingCause): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    const { client, leader, closeMillis } = this.#socket;
    leader.destroy();
    const { code, reason } = restartOf(cause);
    const isWhole = this.#frames.isAtEnd && !this.#frames.hasClosed;
    if (!this.#frames.isAtEnd) client.destroy();
    else if (isWhole) client.end(closeFrame(code, reason));
    else client.end();
    client.resume();
    const timer = setTimeout(() => client.destroy(), closeMillis);
    client.once('close', () => clearTimeout(timer));
  }
}

function upgradeText({ answer, leaderAddress }: RelayedSocket): string {
  const lines = headLines(answer.rawHeaders);
  if (leaderAddress) lines.push(`reducerdb-leader: ${leaderAddress}`);
  return ['HTTP/1.1 101 Switching Protocols', ...lines, '', ''].join('\r\n');
}

/** The answer of a host that has not upgraded, to a client whose connection then ends. */
export function passAnswer(
  client: Duplex,
  answer: IncomingMessage,
  leaderAddress: string | undefined,
): void {
  const { statusCode, statusMessage, rawHeaders } = answer;
  const kept = headLines(rawHeaders).filter((line) => !/^(?:connection|keep-alive):/i.test(line));
  if (leaderAddress) kept.push(`reducerdb-leader: ${leaderAddress}`);
  const first = `HTTP/1.1 ${statusCode} ${statusMessage}`;
  client.write([first, ...kept, 'connection: close', '', ''].join('\r\n'), 'latin1');
  let left = limits.linkAnswerBytesMax;
  answer.on('data', (bytes: Buffer) => {
    left -= bytes.length;
    if (left < 0) client.destroy();
    else client.write(bytes);
  });
  answer.once('end', () => client.end());
  answer.once('error', () => client.destroy());
  client.once('finish', () => client.destroy());
  client.once('close', () => answer.destroy());
}

function headLines(rawHeaders: readonly string[]): string[] {
  return rawHeaders.flatMap((name, at) =>
    at % 2 === 0 && !/^transfer-encoding$/i.test(name) ? [`${name}: ${rawHeaders[at + 1]}`] : [],
  );
}
