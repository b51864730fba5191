// The errors of the platform API as one Markdown page, read from the source of the server's catalog: a heading, and so an
// address, for each.
import ts from 'typescript';

/**
 * @param source text of `packages/server/src/api/errors/catalog.ts`
 * @returns what each entry of `errors` answers; `message` has `<name>` where the server puts in a value
 */
export function readCatalog(source) {
  const file = ts.createSourceFile('catalog.ts', source, ts.ScriptTarget.ES2022, true);
  const constants = new Map();
  let entries = [];
  const visit = (node) => {
    if (ts.isVariableDeclaration(node) && node.initializer && ts.isIdentifier(node.name)) {
      const value = withoutTypes(node.initializer);
      if (ts.isStringLiteralLike(value)) constants.set(node.name.text, value.text);
      if (node.name.text === 'errors' && ts.isObjectLiteralExpression(value))
        entries = value.properties.filter(ts.isPropertyAssignment);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return entries.map((entry) => readEntry(entry, constants));
}

function readEntry(entry, constants) {
  const name = entry.name.getText();
  const call = withoutTypes(entry.initializer.body);
  if (!ts.isCallExpression(call) && !ts.isNewExpression(call))
    throw new Error(`errors.${name}: expected a call of error() or new ApiError()`);
  const [first, second, third] = call.arguments;
  const fields = ts.isObjectLiteralExpression(first) ? membersOf(first) : membersOf(third);
  const status = Number((ts.isObjectLiteralExpression(first) ? fields.get('status') : first).getText());
  const message = ts.isObjectLiteralExpression(first) ? fields.get('message') : second;
  const textOf = (key) => fields.get(key) && textOfExpression(fields.get(key), constants);
  return {
    name,
    status,
    message: textOfExpression(message, constants),
    errorCode: textOf('errorCode'),
    retryAfter: textOf('retryAfterSeconds'),
    note: ts
      .getJSDocCommentsAndTags(entry)
      .map((each) => ts.getTextOfJSDocComment(each.comment) ?? '')
      .join(' '),
  };
}

const withoutTypes = (node) =>
  ts.isSatisfiesExpression(node) || ts.isParenthesizedExpression(node) || ts.isAsExpression(node)
    ? withoutTypes(node.expression)
    : node;

const membersOf = (node) =>
  new Map(
    (node?.properties ?? []).map((each) => [
      each.name.getText(),
      ts.isPropertyAssignment(each) ? each.initializer : each.name,
    ]),
  );

function textOfExpression(node, constants) {
  if (ts.isStringLiteralLike(node) || ts.isNumericLiteral(node)) return node.text;
  if (ts.isTemplateExpression(node))
    return (
      node.head.text +
      node.templateSpans
        .map(({ expression, literal }) => textOfExpression(expression, constants) + literal.text)
        .join('')
    );
  // Either of two texts: the longer one has the values.
  if (ts.isConditionalExpression(node))
    return [node.whenTrue, node.whenFalse]
      .map((each) => textOfExpression(each, constants))
      .sort((a, b) => b.length - a.length)[0];
  if (ts.isIdentifier(node)) return constants.get(node.text) ?? `<${node.text}>`;
  if (ts.isBinaryExpression(node)) return '<number>';
  // A method of a value shortens or joins it; a function of its own adds a hint to some answers.
  if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression))
    return textOfExpression(node.expression.expression, constants);
  return '';
}

export function errorsPage(source) {
  const errors = readCatalog(source);
  const statuses = [...new Set(errors.map(({ status }) => status))].sort((a, b) => a - b);
  return `${[
    '# Errors of the platform API',
    'Every failure that the service answers with. `<name>` stands for a value of the request or the server. A body has `code` (the status), `message` and, where one is named below, `error_code`. Which class the SDK makes of each, and what to do: [Errors](../docs/errors.md).',
    ...statuses.flatMap((status) => [
      `## Status ${status}`,
      ...errors.filter((each) => each.status === status).flatMap(entryText),
    ]),
  ].join('\n\n')}\n`;
}

function entryText({ name, status, message, errorCode, retryAfter, note }) {
  const facts = [
    `Status ${status}`,
    errorCode && `\`error_code\`: \`${errorCode}\``,
    retryAfter && `\`Retry-After\`: \`${retryAfter}\` s`,
  ].filter(Boolean);
  return [`### ${name}`, `\`\`\`text\n${message}\n\`\`\``, `${facts.join(', ')}.${note ? ` ${note}` : ''}`];
}
