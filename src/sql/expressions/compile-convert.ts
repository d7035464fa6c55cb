import { present } from '../../assert.ts';
import { typesEqual, typeText } from '../../values/typespace.ts';
import type { TypedExpression } from '../check/typed.ts';
import { borrowWriter, giveBackWriter } from '../functions/borrowed-writer.ts';
import { conversionOf, optionInnerType } from '../functions/convert.ts';
import { noneBytes, someTag } from '../functions/option-bytes.ts';
import { valueWriterOf } from '../functions/value-codec.ts';
import { charge, lengthOf } from './charge.ts';
import type { CompileContext } from './compile-context.ts';
import { compileExpression } from './compile-expression.ts';
import type { Evaluator } from './frame.ts';

export function compileConvert(
  { operand, type }: Extract<TypedExpression, { kind: 'convert' }>,
  context: CompileContext,
): Evaluator {
  const { types } = context;
  const operandOf = compileExpression(operand, context);
  const inner = optionInnerType(type, types);
  if (inner !== undefined && typesEqual(operand.type, inner, types)) {
    return wrapping(operandOf, valueWriterOf(inner, types));
  }
  const { convert } = present(
    conversionOf(operand.type, type, types),
    `conversion from ${typeText(operand.type)} to ${typeText(type)}`,
  );
  return (frame) => {
    const value = operandOf(frame);
    if (value === null) return null;
    const converted = convert(value);
    charge(frame, lengthOf(value) + lengthOf(converted));
    return converted;
  };
}

/** Converts to an Option: null becomes `none`, which is a value. */
function wrapping(operandOf: Evaluator, write: ReturnType<typeof valueWriterOf>): Evaluator {
  return (frame) => {
    const value = operandOf(frame);
    if (value === null) return noneBytes;
    const writer = borrowWriter();
    writer.u8(someTag);
    write(writer, value);
    const bytes = writer.finish();
    giveBackWriter(writer);
    return bytes;
  };
}
