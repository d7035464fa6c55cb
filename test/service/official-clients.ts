import path from 'node:path';
import {
  Client as ClientTwo,
  StreamableHTTPClientTransport as HttpTwo,
  type VersionNegotiationMode,
} from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioTwo } from '@modelcontextprotocol/client/stdio';
import { Client as ClientOne } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioOne } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as HttpOne } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { root } from './harness.ts';
import type { Running } from './running.ts';

interface Text {
  readonly text: string;
}

interface AnyResult {
  readonly content: Text[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly isError?: boolean;
}

interface ToolCall {
  readonly name: string;
  readonly arguments?: Record<string, unknown>;
}

/** What both generations of the official client can do, as far as the tests need it. */
export interface AnyClient {
  connect(transport: unknown): Promise<void>;
  getServerVersion(): { name: string } | undefined;
  getInstructions(): string | undefined;
  listTools(): Promise<{ tools: { name: string; outputSchema?: object }[] }>;
  callTool(request: ToolCall): Promise<AnyResult>;
  listResources(): Promise<{ resources: { uri: string }[] }>;
  listResourceTemplates(): Promise<{ resourceTemplates: { uriTemplate: string }[] }>;
  readResource(request: { uri: string }): Promise<{ contents: Text[] }>;
  listPrompts(): Promise<{ prompts: { name: string }[] }>;
  getPrompt(request: object): Promise<{ messages: { content: Text }[] }>;
  complete(request: object): Promise<{ completion: { values: string[] } }>;
  close(): Promise<void>;
}

/** Answers what a server asks of the client's user. */
type AnswerTo = (question: string) => object;

/** The official client in one of its ways. */
export interface Generation {
  readonly title: string;
  readonly isModern: boolean;
  /** What it says of a resource that is not there: 2.x reads the legacy code as today's. */
  readonly notFound: -32602 | -32002;
  client(answerTo?: AnswerTo): AnyClient;
  /** Calls a tool, until the signal says that nobody waits any more. */
  callUntil(client: AnyClient, request: ToolCall, signal: AbortSignal): Promise<unknown>;
  http(url: URL, token: string | undefined): unknown;
  stdio(args: readonly string[]): unknown;
}

const info = { name: 'test', version: '1.0.0' };
const asks = { capabilities: { elicitation: {} } };

function bridgeCommand(args: readonly string[]) {
  const program = path.join(root, 'dist/cli/main.js');
  return { command: process.execPath, args: [program, ...args], stderr: 'ignore' as const };
}

function requestInit(token: string | undefined): { requestInit?: RequestInit } {
  if (token === undefined) return {};
  return { requestInit: { headers: { authorization: `Bearer ${token}` } } };
}

const generationOne: Generation = {
  title: '1.x',
  isModern: false,
  notFound: -32002,
  client: (answerTo) => {
    const client = new ClientOne(info, answerTo === undefined ? {} : asks);
    if (answerTo !== undefined) {
      client.setRequestHandler(
        ElicitRequestSchema,
        ({ params }) => answerTo(params.message) as never,
      );
    }
    return client as unknown as AnyClient;
  },
  callUntil: (client, request, signal) =>
    (client as unknown as ClientOne).callTool({ ...request }, undefined, { signal }),
  http: (url, token) => new HttpOne(url, requestInit(token)),
  stdio: (args) => new StdioOne(bridgeCommand(args)),
};

function generationTwo(title: string, mode: VersionNegotiationMode): Generation {
  return {
    title,
    isModern: mode !== 'legacy',
    notFound: -32602,
    client: (answerTo) => {
      const versionNegotiation = { mode };
      const client = new ClientTwo(info, {
        versionNegotiation,
        ...(answerTo === undefined ? {} : asks),
      });
      if (answerTo !== undefined) {
        client.setRequestHandler(
          'elicitation/create',
          ({ params }) => answerTo(params.message) as never,
        );
      }
      return client as unknown as AnyClient;
    },
    callUntil: (client, request, signal) =>
      (client as unknown as ClientTwo).callTool({ ...request }, { signal }),
    http: (url, token) => new HttpTwo(url, requestInit(token)),
    stdio: (args) => new StdioTwo(bridgeCommand(args)),
  };
}

const latest = generationTwo('2.x, pinned to 2026-07-28', { pin: '2026-07-28' });

export const generations: readonly Generation[] = [
  generationOne,
  generationTwo('2.x, which does not negotiate', 'legacy'),
  generationTwo('2.x, which negotiates', 'auto'),
  latest,
];

/** How a client reaches a database. */
export interface Door {
  readonly title: string;
  /** Argument with which every data tool names the database. */
  readonly database: { readonly database?: string };
  transport(generation: Generation, visit: Visit): unknown;
}

export interface Visit {
  readonly running: Running;
  /** Of the bridge's user. */
  readonly userFolder: string;
  /** For HTTP; the bridge takes what its user has saved. */
  readonly token?: string;
  readonly features?: string;
}

function overHttp(where: string): Door['transport'] {
  return ({ http }, { running, token, features }) => {
    const url = new URL(where, running.service.url);
    if (features !== undefined) url.searchParams.set('features', features);
    return http(url, token);
  };
}

function overStdio(database: readonly string[]): Door['transport'] {
  return ({ stdio }, { running, userFolder, features }) => {
    const more = features === undefined ? [] : ['--features', features];
    const { url } = running.service;
    return stdio(['--root-dir', userFolder, 'mcp', ...database, '--server', url, ...more]);
  };
}

export function doorsTo(name: string): readonly Door[] {
  const hostWide = { database: name };
  const path = `/v1/database/${name}/mcp`;
  return [
    { title: 'host-wide over HTTP', database: hostWide, transport: overHttp('/v1/mcp') },
    { title: 'in a database over HTTP', database: {}, transport: overHttp(path) },
    { title: 'host-wide over stdio', database: hostWide, transport: overStdio([]) },
    { title: 'in a database over stdio', database: {}, transport: overStdio([name]) },
  ];
}

export const doors = doorsTo('inn');

/** Connects the client of today's revision, for what only that one can do. */
export async function connectLatest(door: Door, visit: Visit): Promise<ClientTwo> {
  const client = latest.client() as unknown as ClientTwo;
  await client.connect(door.transport(latest, visit) as HttpTwo);
  return client;
}
