import { isEnum, typeName, type ValueType } from '../../service/types.ts';

const partsMax = 12;
const depthMax = 3;

/** A type in full, as far as a line can be read: `'open' | 'paid'`, `{ x: i32, y: i32 }`. */
export function declaredType(type: ValueType, depth = 0): string {
  if (depth >= depthMax) return typeName(type);
  const inside = (one: ValueType) => declaredType(one, depth + 1);
  switch (type.kind) {
    case 'sum': {
      const variants = type.variants();
      const texts = variants
        .slice(0, partsMax)
        .map((variant) =>
          isEnum(type) || variant.type.kind === 'unit'
            ? `'${variant.name}'`
            : `${variant.name}(${inside(variant.type)})`,
        );
      return listed(texts, variants.length, ' | ');
    }
    case 'product': {
      const fields = type.fields();
      const texts = fields
        .slice(0, partsMax)
        .map((field) => `${field.name}: ${inside(field.type)}`);
      return `{ ${listed(texts, fields.length, ', ')} }`;
    }
    case 'array':
      return `[${inside(type.item())}]`;
    case 'option':
      return `${inside(type.some())}?`;
    default:
      return typeName(type);
  }
}

function listed(texts: readonly string[], count: number, between: string): string {
  return [...texts, ...(count > texts.length ? [`… ${count - texts.length} more`] : [])].join(
    between,
  );
}
