import { describe, expect, it } from 'vitest';
import {
  cronModule,
  moduleOf,
  personModule,
  reducer,
  ref,
  u64,
} from '../../test/schema/module-builder.ts';
import { product, scheduleAtType, unitType } from '../values/special-types.ts';
import { unsupportedFeature } from './unsupported.ts';
import { validateModule } from './validate.ts';

const jobs = {
  name: 'jobs',
  columns: { id: u64, at: scheduleAtType },
  primaryKey: 'id',
};

const view = {
  sourceName: 'myView',
  index: 0,
  isPublic: true,
  isAnonymous: true,
  params: product(),
  returnType: { kind: 'array' as const, element: ref(0) },
};

const procedure = {
  sourceName: 'askIt',
  params: product(),
  returnType: unitType,
  visibility: 'clientCallable' as const,
};

const schedule = { sourceName: undefined, tableName: 'jobs', atColumn: 1, functionName: 'run' };

describe('[abi 9, 12, 13, module-def 9, module-sdk 6.4] a module that declares', () => {
  it('procedures is fine, scheduled ones too', () => {
    const raw = moduleOf([jobs], {
      procedures: [{ ...procedure, params: product(['job', ref(0)]) }],
      schedules: [{ ...schedule, functionName: 'askIt' }],
    });
    expect(unsupportedFeature(validateModule(raw))).toBeUndefined();
  });

  it('HTTP handlers is fine, where there are lanes', () => {
    const routes = [{ handler: 'onHook', method: 'POST', path: '/hook/:id' }];
    const raw = moduleOf([jobs], { httpHandlers: ['onHook'], httpRoutes: routes });
    expect(unsupportedFeature(validateModule(raw))).toBeUndefined();
    expect(unsupportedFeature(validateModule(raw), false)).toBe(
      'module declares the HTTP handler `on_hook`: HTTP handlers are not supported yet in a ' +
        'process (isolation)',
    );
  });

  it('[module-def 6.2] views with parameters is fine', () => {
    const raw = { ...personModule, views: [{ ...view, params: product(['at', u64]) }] };
    expect(unsupportedFeature(validateModule(raw))).toBeUndefined();
  });

  it('crons is fine', () => {
    expect(unsupportedFeature(validateModule(cronModule))).toBeUndefined();
  });

  it('tables, reducers, views and filters is fine', () => {
    const raw = { ...personModule, views: [view], rowLevelSecurity: ['SELECT * FROM person'] };
    expect(unsupportedFeature(validateModule(raw))).toBeUndefined();
  });

  it('a schedule of a reducer is fine', () => {
    const parts = { reducers: [reducer('run', { job: ref(0) })], schedules: [schedule] };
    expect(unsupportedFeature(validateModule(moduleOf([jobs], parts)))).toBeUndefined();
  });
});
