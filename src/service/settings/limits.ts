import { limits } from '../../limits.ts';
import { logLevels } from '../configuration.ts';
import type { Draft } from '../setting.ts';
import { durationText, type Setting, setting } from '../setting.ts';
import { oneOf } from './connections.ts';

/** Returns the settings for limits of clients and for logs. */
export function limitSettings(): Setting[] {
  return [...rateSettings(), ...sizeSettings(), ...moduleSettings(), ...logSettings()];
}

const mebibyte = 1024 * 1024;

function rateSettings(): Setting[] {
  return [
    setting({
      key: 'limits.identity-requests',
      flag: 'identity-requests',
      kind: 'count',
      value: '<per second>',
      help: 'requests of one identity; further ones get 429',
      otherwise: `${limits.identityRequestsPerSecondMax}, on loopback any number`,
      example: limits.identityRequestsPerSecondMax,
      apply: (value, draft) => {
        draft.rates = { ...draft.rates, identityRequestsPerSecond: value };
      },
    }),
    setting({
      key: 'limits.address-requests',
      flag: 'address-requests',
      kind: 'count',
      value: '<per second>',
      help: 'requests from one address; further ones get 429',
      otherwise: `${limits.addressRequestsPerSecondMax}, on loopback any number`,
      example: limits.addressRequestsPerSecondMax,
      apply: (value, draft) => {
        draft.rates = { ...draft.rates, addressRequestsPerSecond: value };
      },
    }),
    setting({
      key: 'limits.address-connections',
      flag: 'address-connections',
      kind: 'count',
      value: '<count>',
      help: 'open connections from one address; further ones are closed',
      otherwise: `${limits.addressConnectionsMax}, on loopback any number`,
      example: limits.addressConnectionsMax,
      apply: (value, draft) => {
        draft.rates = { ...draft.rates, addressConnections: value };
      },
    }),
    setting({
      key: 'limits.connections',
      flag: 'connections',
      kind: 'count',
      value: '<count>',
      help: 'open connections of all clients; further ones are closed',
      otherwise: String(limits.connectionsMax),
      example: limits.connectionsMax,
      apply: bound('connectionsMax'),
    }),
  ];
}

function sizeSettings(): Setting[] {
  return [
    setting({
      key: 'limits.requests',
      flag: 'requests',
      kind: 'count',
      value: '<count>',
      help: 'HTTP requests being answered at once; further ones get 503',
      otherwise: String(limits.requestsMax),
      example: limits.requestsMax,
      apply: bound('requestsMax'),
    }),
    setting({
      key: 'limits.header-timeout',
      flag: 'header-timeout',
      kind: 'duration',
      value: '<time>',
      help: 'time for the headers of a request to arrive; slower ones get 408',
      otherwise: durationText(limits.headerMillisMax),
      example: '15s',
      apply: bound('headerMillisMax'),
    }),
    setting({
      key: 'limits.request-timeout',
      flag: 'request-timeout',
      kind: 'duration',
      value: '<time>',
      help: 'time for a request with its body to arrive; slower ones get 408',
      otherwise: durationText(limits.requestMillisMax),
      example: '5min',
      apply: bound('requestMillisMax'),
    }),
    setting({
      key: 'limits.program-size',
      flag: 'program-size',
      kind: 'count',
      value: '<MiB>',
      help: 'size of a published program; larger ones get 413',
      otherwise: `nearly ${Math.ceil(limits.programBytesMax / mebibyte)} MiB, the maximum`,
      example: 32,
      apply: (value, draft) => {
        const programBytesMax = Math.min(value * mebibyte, limits.programBytesMax);
        draft.bounds = { ...draft.bounds, programBytesMax };
      },
    }),
    setting({
      key: 'limits.handler-body',
      flag: 'handler-body',
      kind: 'count',
      value: '<MiB>',
      help: 'body of a request to an HTTP handler of a module; larger ones get 413',
      otherwise: `${limits.handlerBodyBytesMax / mebibyte} MiB, the maximum`,
      example: 4,
      apply: (value, draft) => {
        const handlerBodyBytesMax = Math.min(value * mebibyte, limits.handlerBodyBytesMax);
        draft.bounds = { ...draft.bounds, handlerBodyBytesMax };
      },
    }),
  ];
}

function bound(name: keyof NonNullable<Draft['bounds']>): (value: number, draft: Draft) => void {
  return (value, draft) => {
    draft.bounds = { ...draft.bounds, [name]: value };
  };
}

function moduleSettings(): Setting[] {
  return [
    setting({
      key: 'limits.call-timeout',
      flag: 'call-timeout',
      kind: 'duration',
      value: '<time>',
      help: 'wall-clock limit of one reducer call',
      otherwise: durationText(limits.callMillisMax),
      example: '10s',
      apply: (value, draft) => {
        draft.budget = { ...draft.budget, callMillisMax: value };
      },
    }),
    setting({
      key: 'limits.heap',
      flag: 'heap-limit',
      kind: 'count',
      value: '<MiB>',
      help: 'JavaScript heap of one database',
      otherwise: `${limits.workerHeapMebibytesMax} MiB`,
      example: limits.workerHeapMebibytesMax,
      apply: (value, draft) => {
        draft.budget = { ...draft.budget, workerHeapMebibytesMax: value };
      },
    }),
  ];
}

function logSettings(): Setting[] {
  return [
    setting({
      key: 'logs.level',
      flag: 'log-level',
      kind: 'text',
      value: '<level>',
      help: `level of the service log: ${logLevels.slice(0, -1).join(', ')} or silent`,
      otherwise: 'info',
      example: 'info',
      apply: (value, draft) => {
        draft.logLevel = oneOf(logLevels, value);
      },
    }),
    setting({
      key: 'logs.module-lines',
      flag: 'module-log-lines',
      kind: 'count',
      value: '<per second>',
      help: 'log lines of one module; further ones are counted and dropped',
      otherwise: String(limits.moduleLogLinesPerSecondMax),
      example: limits.moduleLogLinesPerSecondMax,
      apply: (value, draft) => {
        draft.moduleLogs = { ...draft.moduleLogs, linesPerSecondMax: value };
      },
    }),
    setting({
      key: 'logs.module-size',
      flag: 'module-log-size',
      kind: 'count',
      value: '<MiB>',
      help: 'log of one module for a day; further lines are counted and dropped',
      otherwise: `${limits.moduleLogFileBytesMax / mebibyte} MiB`,
      example: limits.moduleLogFileBytesMax / mebibyte,
      apply: (value, draft) => {
        draft.moduleLogs = { ...draft.moduleLogs, fileBytesMax: value * mebibyte };
      },
    }),
    setting({
      key: 'logs.module-days',
      flag: 'module-log-days',
      kind: 'count',
      value: '<count>',
      help: 'days for which module logs are kept',
      otherwise: String(limits.moduleLogDaysMax),
      example: limits.moduleLogDaysMax,
      apply: (value, draft) => {
        draft.moduleLogs = { ...draft.moduleLogs, daysMax: value };
      },
    }),
  ];
}
