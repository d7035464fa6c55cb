import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync, unwatchFile, watchFile } from 'node:fs';
import type { Server } from 'node:https';
import type { Socket } from 'node:net';
import { createSecureContext, type Server as TlsServer } from 'node:tls';
import { limits } from '../limits.ts';
import { ConfigurationError, type TlsFiles } from './configuration.ts';

/** Reads the files. Throws `ConfigurationError` if they are not a matching pair. */
export function readTls({ certificateFile, keyFile }: TlsFiles): { cert: Buffer; key: Buffer } {
  try {
    const read = { cert: readFileSync(certificateFile), key: readFileSync(keyFile) };
    const isPair = new X509Certificate(read.cert).checkPrivateKey(createPrivateKey(read.key));
    if (!isPair) throw new Error('the key is not that of the certificate');
    createSecureContext(read);
    return read;
  } catch (cause) {
    const files = `${certificateFile} and ${keyFile}`;
    const text = `${files} cannot be used for TLS: ${(cause as Error).message}`;
    throw new ConfigurationError(text, { cause });
  }
}

/**
 * Watches for certificates renewed in place: new connections use the new one. While the files do
 * not match, because one has not been written yet, the old pair stays in use.
 */
export function followTls(
  server: Server,
  files: TlsFiles,
  report: (message: string) => void,
): void {
  const renew = () => {
    try {
      server.setSecureContext(readTls(files));
    } catch (error) {
      report(`The old certificate stays in use: ${(error as Error).message}`);
    }
  };
  const watched = [files.certificateFile, files.keyFile];
  const options = { interval: limits.certificateLookMillis, persistent: false };
  for (const file of watched) watchFile(file, options, renew);
  server.once('close', () => {
    for (const file of watched) unwatchFile(file, renew);
  });
}

const plainAnswer = 'This port speaks TLS: ask with https:// or wss://';
const plainResponse = [
  'HTTP/1.1 400 Bad Request',
  'connection: close',
  'content-type: text/plain; charset=utf-8',
  `content-length: ${plainAnswer.length}`,
  '',
  plainAnswer,
].join('\r\n');

/** Answers plain HTTP on the TLS port, on the underlying connection. */
export function answerPlainHttp(server: Server): void {
  const below = connectionsBelow(server);
  // Registered before the listener that closes the connection.
  server.prependListener('tlsClientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ERR_SSL_HTTP_REQUEST') below(socket)?.write(plainResponse);
  });
}

/** Finds the plain connection under a TLS connection, which the platform does not expose. */
export function connectionsBelow(server: TlsServer): (socket: Socket) => Socket | undefined {
  const below = new Map<string, Socket>();
  const keyOf = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`;
  server.on('connection', (socket: Socket) => {
    const key = keyOf(socket);
    below.set(key, socket);
    socket.once('close', () => below.delete(key));
  });
  return (socket) => below.get(keyOf(socket));
}
