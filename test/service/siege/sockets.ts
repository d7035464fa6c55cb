import { SocketClient } from '../socket-client.ts';
import { speechOf } from '../speech.ts';
import { type Attacker, bothModes, type Field, pause } from './attacker.ts';

type Flood = (client: SocketClient, field: Field) => void;

const binary = speechOf('v2.bsatn');
const text = speechOf('v1.json');

const floods: readonly { readonly protocol: string; readonly flood: Flood }[] = [
  {
    protocol: 'v2.bsatn.spacetimedb',
    flood(client) {
      for (let id = 0; id < 2_000; id += 1) client.send(binary.call(id, 'which', []));
    },
  },
  {
    protocol: 'v2.bsatn.spacetimedb',
    flood(client) {
      const all = ['SELECT * FROM heap'];
      for (let id = 0; id < 20; id += 1) client.send(binary.subscribe(id, id, all));
      client.socket.pause();
    },
  },
  {
    protocol: 'v1.json.spacetimedb',
    flood(client) {
      const many = Array.from({ length: 5_000 }, (_, n) => `SELECT * FROM heap WHERE id = ${n}`);
      client.send(text.subscribe(1, 1, many));
      client.send(`{"OneOffQuery":${'['.repeat(1_000_000)}`);
    },
  },
  {
    protocol: 'v1.json.spacetimedb',
    flood(client) {
      const args = `[{${'"a":1,'.repeat(300_000)}"a":1}]`;
      client.send(
        JSON.stringify({ CallReducer: { reducer: 'put', args, request_id: 1, flags: 0 } }),
      );
    },
  },
  {
    protocol: 'v2.bsatn.spacetimedb',
    flood(client) {
      client.send(Buffer.alloc(8_000_000, 7));
    },
  },
  {
    protocol: 'v2.bsatn.spacetimedb',
    flood(client) {
      for (let id = 0; id < 200; id += 1) client.socket.ping('x'.repeat(125));
      for (let id = 0; id < 50; id += 1) client.send(binary.oneOff(id, 'SELECT * FROM heap'));
    },
  },
];

/** Clients that stay and say too much, watch too much or never read. */
export const sockets: readonly Attacker[] = [
  {
    name: 'floods by WebSocket',
    modes: bothModes,
    atOnce: 3,
    pauseMillis: 200,
    async attack(field, round) {
      const { protocol, flood } = floods[round % floods.length] as (typeof floods)[number];
      const client = await SocketClient.open(field.url, field.quarry, { protocols: [protocol] });
      client.socket.on('message', () => client.frames.splice(0));
      flood(client, field);
      const ended = await Promise.race([client.ended, pause(2_000)]);
      client.socket.terminate();
      await client.ended;
      return ended === undefined ? 'held' : `closed ${ended.code}`;
    },
  },
];
