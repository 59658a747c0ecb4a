from qed.designs._choice import design as design
from qed.designs._chunked import Chunked as Chunked
from qed.designs._dense import Dense as Dense
from qed.designs._design import Adjoint as Adjoint
from qed.designs._design import Compressed as Compressed
from qed.designs._design import Design as Design
from qed.designs._sparse import Sparse as Sparse
from qed.designs._standardised import Standardised as Standardised
