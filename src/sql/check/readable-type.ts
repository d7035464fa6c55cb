import { specialKindOf } from '../../values/special-types.ts';
import type { AlgebraicType, Typespace } from '../../values/type.ts';
import { resolveType } from '../../values/typespace.ts';
import { hasRefs } from '../functions/canonical.ts';
import { optionInnerType } from '../functions/convert.ts';
import { shownType } from './shown-type.ts';

const specialNames: Readonly<Record<string, string>> = {
  identity: 'Identity',
  connectionId: 'ConnectionId',
  timestamp: 'Timestamp',
  timeDuration: 'TimeDuration',
  uuid: 'UUID',
  bytes: 'Bytes',
  scheduleAt: 'ScheduleAt',
};

/** A type as people and casts name it: `Option<Timestamp>`, an enum by its variants. */
export function readableType(written: AlgebraicType, typespace: Typespace): string {
  const type = resolveType(written, typespace);
  const inner = optionInnerType(type, typespace);
  if (inner !== undefined) return `Option<${readableType(inner, typespace)}>`;
  const name = specialNames[specialKindOf(type) ?? ''];
  if (name !== undefined) return name;
  if (type.kind === 'array') return `Array<${readableType(type.element, typespace)}>`;
  if (type.kind === 'sum' && type.variants.length > 0 && isEnum(type, typespace)) {
    return type.variants.map((variant, at) => `'${variant.name ?? at}'`).join(' | ');
  }
  return hasRefs(type) ? shownType(written, typespace) : shownType(type, typespace);
}

function isEnum(type: Extract<AlgebraicType, { kind: 'sum' }>, typespace: Typespace): boolean {
  return type.variants.every((variant) => {
    const payload = resolveType(variant.type, typespace);
    return payload.kind === 'product' && payload.elements.length === 0;
  });
}
