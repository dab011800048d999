exports.hello = async () => process.env.COLOR;
