import type { ServiceFigure } from '../http/context.ts';
import type { SocketStatistics } from '../websocket/door.ts';

/** Returns the metrics of the WebSocket door. */
export function socketFigures(statistics: SocketStatistics): ServiceFigure[] {
  return (Object.keys(helps) as (keyof SocketStatistics)[]).map((key) => {
    const { name, help } = helps[key];
    return { name: `reducerdb_socket_${name}`, help, value: statistics[key] };
  });
}

const helps: Readonly<Record<keyof SocketStatistics, Pick<ServiceFigure, 'name' | 'help'>>> = {
  connections: { name: 'connections', help: 'Open WebSockets' },
  queuedMessages: { name: 'queued_messages', help: 'Messages waiting to be written' },
  queuedBytes: { name: 'queued_bytes', help: 'Bytes of messages waiting to be written' },
  messagesIn: { name: 'messages_in_total', help: 'Messages from clients' },
  bytesIn: { name: 'bytes_in_total', help: 'Bytes of messages from clients' },
  messagesOut: { name: 'messages_out_total', help: 'Messages for clients' },
  framesOut: { name: 'frames_out_total', help: 'Frames that carried messages for clients' },
  bytesOut: { name: 'bytes_out_total', help: 'Bytes of messages for clients, not compressed' },
  dropped: {
    name: 'dropped_total',
    help: 'Clients dropped because they were too slow or too demanding',
  },
};
