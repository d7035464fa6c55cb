import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it } from 'vitest';
import { connectionNumber } from '../src/values/connection-number.ts';
import { callerIdentity } from '../src/values/identity-roles.ts';
import type { Value } from '../src/values/value.ts';
import { RunningModule } from './support/running-module.ts';

const chatFolder = fileURLToPath(new URL('../examples/chat', import.meta.url));
const ada = { sender: callerIdentity(0xadan), connectionId: connectionNumber(1n) };
const bob = { sender: callerIdentity(0xb0bn), connectionId: connectionNumber(2n) };

describe('the chat', () => {
  let chat: RunningModule;
  beforeEach(async () => {
    chat = await RunningModule.of(chatFolder);
    chat.linesOf('init');
    for (const person of [ada, bob]) chat.linesOf('clientConnected', [], person);
  });

  const refusal = (reducer: string, args: Value[], call = ada) => {
    const { outcome } = chat.run(reducer, args, call);
    return outcome.kind === 'refused' ? outcome.message : outcome.kind;
  };
  const rows = (table: string) => chat.module.store.tableByName(table)?.rowCount;

  it('lets people name themselves, open rooms and talk', () => {
    chat.linesOf('setName', ['Ada'], ada);
    chat.linesOf('openRoom', ['kitchen', 'Who has the cups?'], ada);
    expect(chat.linesOf('sendMessage', [' not me '], ada)).toEqual(['message 1 in kitchen']);
    expect(chat.linesOf('sendMessage', ['hello?'], bob)).toEqual(['message 2 in lobby']);
    chat.linesOf('joinRoom', ['kitchen'], bob);
    expect(chat.linesOf('sendMessage', ['nor me'], bob)).toEqual(['message 3 in kitchen']);
    expect([rows('user'), rows('room'), rows('message'), rows('connection')]).toEqual([2, 2, 3, 2]);
  });

  it('refuses what makes no sense, in words', () => {
    expect(refusal('sendMessage', ['  '])).toBe('the message is empty');
    expect(refusal('setName', ['x'.repeat(41)])).toBe('the name has more than 40 characters');
    expect(refusal('joinRoom', ['cellar'])).toBe('there is no room cellar');
    expect(refusal('openRoom', ['lobby', 'again'])).toBe('there is a room lobby already');
    expect(refusal('deleteMessage', [7n])).toBe('there is no message 7');
    chat.linesOf('sendMessage', ['mine'], ada);
    expect(refusal('deleteMessage', [1n], bob)).toBe('that is not your message');
    expect(refusal('deleteMessage', [1n], ada)).toBe('returned');
    expect(refusal('closeRoom', ['lobby'])).toBe('the lobby stays open');
    expect(rows('message')).toBe(0);
  });

  it('closes a room when everybody has gone', () => {
    chat.linesOf('openRoom', ['kitchen', 'cups'], ada);
    chat.linesOf('sendMessage', ['anyone?'], ada);
    expect(refusal('closeRoom', ['kitchen'], bob)).toBe('somebody is in kitchen');
    chat.linesOf('clientConnected', [], { ...ada, connectionId: connectionNumber(3n) });
    chat.linesOf('clientDisconnected', [], ada);
    expect(refusal('closeRoom', ['kitchen'], bob)).toBe('somebody is in kitchen');
    chat.linesOf('clientDisconnected', [], { ...ada, connectionId: connectionNumber(3n) });
    expect(chat.linesOf('closeRoom', ['kitchen'], bob)).toEqual(['closed kitchen with 1 messages']);
    expect([rows('room'), rows('message'), rows('connection')]).toEqual([1, 0, 1]);
  });
});
