//! ONNX: a graph from `x` of shape (rows, inputs) to `y` of shape (rows, outputs). Equations are in double precision unless told otherwise, networks in single precision, which they
//! were trained in (and for which run times have all activations).

use super::{
    File,
    layout::{Body, Layout},
    network::{Heads, Network},
    power::whole,
};
use crate::{
    equation::Node,
    features::Function,
    network::{Activation, Head},
    protobuf::Message,
};

/// The oldest versions with all that is used here.
const OPSET: u64 = 17;
const IR_VERSION: u64 = 8;

/// Types of tensors.
const FLOAT: u64 = 1;
const INT64: u64 = 7;
const DOUBLE: u64 = 11;

pub(super) fn files(layout: &Layout) -> Vec<File> {
    let double = matches!(layout.body, Body::Equations(_)) && !layout.float;
    let mut graph = Graph {
        element: if double { DOUBLE } else { FLOAT },
        columns: vec![None; layout.inputs.len()],
        ..Graph::default()
    };
    match layout.body {
        Body::Equations(model) => {
            let targets = model.expressions().map(|e| graph.expression(e.root()));
            let targets: Vec<String> = targets.collect();
            let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
            graph.node("Concat", &targets, "y", &[("axis", 1)]);
        }
        Body::Network(network) => graph.network(network),
    }
    let mut message = graph.nodes;
    message.bytes(2, layout.name.as_bytes());
    for tensor in &graph.tensors {
        message.message(5, tensor);
    }
    message.message(11, &value("x", graph.element, layout.inputs.len()));
    message.message(12, &value("y", graph.element, layout.outputs.len()));

    let mut model = Message::default();
    model.varint(1, IR_VERSION);
    model.bytes(2, b"ell0");
    model.message(7, &message);
    let mut opset = Message::default();
    opset.varint(2, OPSET);
    model.message(8, &opset);
    // The names as the user gave them, as a JSON list each.
    for (key, names) in [("inputs", &layout.inputs), ("outputs", &layout.outputs)] {
        let texts: Vec<&str> = names.iter().map(|name| name.text.as_str()).collect();
        let mut property = Message::default();
        property.bytes(1, key.as_bytes());
        property.bytes(2, serde_json::json!(texts).to_string().as_bytes());
        model.message(14, &property);
    }
    vec![File::new(layout.name, ".onnx", model.into_bytes())]
}

/// A graph in the making. Nodes and tensors are named by numbers.
#[derive(Default)]
struct Graph {
    element: u64,
    nodes: Message,
    tensors: Vec<Message>,
    /// The value that holds each input, once it is used.
    columns: Vec<Option<String>>,
    /// The value that holds the shape (rows, 1), once it is used.
    shape: Option<String>,
    names: usize,
}

impl Graph {
    fn name(&mut self) -> String {
        self.names += 1;
        format!("v{}", self.names)
    }

    fn node(&mut self, operation: &str, inputs: &[&str], output: &str, attributes: &[(&str, u64)]) {
        let mut node = Message::default();
        for input in inputs {
            node.bytes(1, input.as_bytes());
        }
        node.bytes(2, output.as_bytes());
        node.bytes(4, operation.as_bytes());
        for (name, number) in attributes {
            let mut attribute = Message::default();
            attribute.bytes(1, name.as_bytes());
            attribute.varint(3, *number);
            attribute.varint(20, 2);
            node.message(5, &attribute);
        }
        self.nodes.message(1, &node);
    }

    fn apply(&mut self, operation: &str, inputs: &[&str]) -> String {
        let output = self.name();
        self.node(operation, inputs, &output, &[]);
        output
    }

    fn tensor(&mut self, element: u64, shape: &[usize], bytes: &[u8]) -> String {
        let name = self.name();
        let mut tensor = Message::default();
        for size in shape {
            tensor.varint(1, *size as u64);
        }
        tensor.varint(2, element);
        tensor.bytes(8, name.as_bytes());
        tensor.bytes(9, bytes);
        self.tensors.push(tensor);
        name
    }

    /// A number that broadcasts with every row.
    fn number(&mut self, value: f64) -> String {
        if self.element == DOUBLE {
            self.tensor(DOUBLE, &[1, 1], &value.to_le_bytes())
        } else {
            self.tensor(FLOAT, &[1, 1], &(value as f32).to_le_bytes())
        }
    }

    fn indices(&mut self, indices: &[usize]) -> String {
        let bytes: Vec<u8> = indices
            .iter()
            .flat_map(|i| (*i as i64).to_le_bytes())
            .collect();
        self.tensor(INT64, &[indices.len()], &bytes)
    }

    fn floats(&mut self, shape: &[usize], values: &[f32]) -> String {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.tensor(FLOAT, shape, &bytes)
    }

    /// Columns of the input.
    fn gather(&mut self, columns: &[usize]) -> String {
        let indices = self.indices(columns);
        let output = self.name();
        self.node("Gather", &["x", &indices], &output, &[("axis", 1)]);
        output
    }

    /// The value of an expression, of shape (rows, 1).
    fn expression(&mut self, node: &Node) -> String {
        let mut constant = true;
        node.visit(&mut |node| constant &= !matches!(node, Node::Variable(_)));
        let value = self.value(node);
        if !constant {
            return value;
        }
        // A constant does not know how many rows there are.
        if self.shape.is_none() {
            let rows = self.name();
            self.node("Shape", &["x"], &rows, &[("start", 0), ("end", 1)]);
            let one = self.indices(&[1]);
            let shape = self.name();
            self.node("Concat", &[&rows, &one], &shape, &[("axis", 0)]);
            self.shape = Some(shape);
        }
        let shape = self.shape.clone().unwrap_or_default();
        self.apply("Expand", &[&value, &shape])
    }

    /// The value of a node, of shape (rows, 1) or (1, 1), in the order of `equation::evaluate`.
    fn value(&mut self, node: &Node) -> String {
        match node {
            Node::Number(value) => self.number(*value),
            Node::Variable(index) => match self.columns[*index].clone() {
                Some(name) => name,
                None => {
                    let name = self.gather(&[*index]);
                    self.columns[*index] = Some(name.clone());
                    name
                }
            },
            Node::Sum(parts) => self.fold("Add", parts, 0.0),
            Node::Product(parts) => self.fold("Mul", parts, 1.0),
            Node::Power(inner, exponent) => {
                let base = self.value(inner);
                match whole(*exponent) {
                    Some(exponent) => self.whole_power(base, exponent),
                    None => {
                        let exponent = self.number(*exponent);
                        self.apply("Pow", &[&base, &exponent])
                    }
                }
            }
            Node::Call(function, inner) => {
                let argument = self.value(inner);
                let operation = match function {
                    Function::Exp => "Exp",
                    Function::Log => "Log",
                    Function::Sqrt => "Sqrt",
                    Function::Abs => "Abs",
                    Function::Tanh => "Tanh",
                    Function::Sign => "Sign",
                    Function::Sin => "Sin",
                    Function::Cos => "Cos",
                };
                self.apply(operation, &[&argument])
            }
        }
    }

    fn fold(&mut self, operation: &str, parts: &[Node], empty: f64) -> String {
        let constant = |part: &&Node| matches!(part, Node::Number(_));
        let (constants, others): (Vec<&Node>, Vec<&Node>) = parts.iter().partition(constant);
        let mut total: Option<String> = None;
        for part in others.into_iter().chain(constants) {
            let value = self.value(part);
            total = Some(match total {
                None => value,
                Some(total) => self.apply(operation, &[&total, &value]),
            });
        }
        total.unwrap_or_else(|| self.number(empty))
    }

    /// Squares, multiplied from the lowest on.
    fn whole_power(&mut self, base: String, exponent: i32) -> String {
        let (mut square, mut size) = (base, exponent.unsigned_abs());
        let mut product: Option<String> = None;
        while size > 0 {
            if size & 1 == 1 {
                product = Some(match product {
                    None => square.clone(),
                    Some(product) => self.apply("Mul", &[&product, &square]),
                });
            }
            size >>= 1;
            if size > 0 {
                square = self.apply("Mul", &[&square, &square]);
            }
        }
        let product = product.unwrap_or_else(|| self.number(1.0));
        if exponent < 0 {
            let one = self.number(1.0);
            self.apply("Div", &[&one, &product])
        } else {
            product
        }
    }

    fn network(&mut self, network: &Network) {
        let mut state = self.gather(network.read());
        for layer in network.layers() {
            let weights = self.floats(&[layer.inputs, layer.outputs], &layer.weights);
            let biases = self.floats(&[layer.outputs], &layer.biases);
            state = self.apply("Gemm", &[&state, &weights, &biases]);
            let activation = match layer.activation {
                Activation::Elu => Some("Elu"),
                Activation::Relu => Some("Relu"),
                Activation::Tanh => Some("Tanh"),
                Activation::Identity => None,
            };
            if let Some(activation) = activation {
                state = self.apply(activation, &[&state]);
            }
        }
        match network.heads_at_once() {
            Heads::Identity => self.node("Identity", &[&state], "y", &[]),
            Heads::Tanh {
                halves,
                centres: None,
            } => {
                let bounded = self.apply("Tanh", &[&state]);
                let halves = self.floats(&[halves.len()], &halves);
                self.node("Mul", &[&bounded, &halves], "y", &[]);
            }
            Heads::Tanh {
                halves,
                centres: Some(centres),
            } => {
                let bounded = self.apply("Tanh", &[&state]);
                let halves = self.floats(&[halves.len()], &halves);
                let wide = self.apply("Mul", &[&bounded, &halves]);
                let centres = self.floats(&[centres.len()], &centres);
                self.node("Add", &[&wide, &centres], "y", &[]);
            }
            Heads::Scaled(factors) => {
                let factors = self.floats(&[factors.len()], &factors);
                self.node("Mul", &[&state, &factors], "y", &[]);
            }
            Heads::Mixed => {
                let heads = network.heads().iter().enumerate();
                let columns: Vec<String> =
                    heads.map(|(k, head)| self.head(&state, k, *head)).collect();
                let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
                self.node("Concat", &columns, "y", &[("axis", 1)]);
            }
        }
    }

    /// One output behind its head, of shape (rows, 1).
    fn head(&mut self, state: &str, index: usize, head: Head) -> String {
        let place = self.indices(&[index]);
        let column = self.name();
        self.node("Gather", &[state, &place], &column, &[("axis", 1)]);
        match head {
            Head::Identity => column,
            Head::Scaled(factor) => {
                let factor = self.floats(&[1], &[factor]);
                self.apply("Mul", &[&column, &factor])
            }
            Head::Tanh { centre, half } => {
                let bounded = self.apply("Tanh", &[&column]);
                let half = self.floats(&[1], &[half]);
                let wide = self.apply("Mul", &[&bounded, &half]);
                let centre = self.floats(&[1], &[centre]);
                self.apply("Add", &[&wide, &centre])
            }
        }
    }
}

/// A matrix with as many rows as there are.
fn value(name: &str, element: u64, width: usize) -> Message {
    let (mut rows, mut columns) = (Message::default(), Message::default());
    rows.bytes(2, b"rows");
    columns.varint(1, width as u64);
    let mut shape = Message::default();
    shape.message(1, &rows);
    shape.message(1, &columns);
    let mut tensor = Message::default();
    tensor.varint(1, element);
    tensor.message(2, &shape);
    let mut kind = Message::default();
    kind.message(1, &tensor);
    let mut value = Message::default();
    value.bytes(1, name.as_bytes());
    value.message(2, &kind);
    value
}
