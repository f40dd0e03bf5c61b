// A block with a notch, meshed with tetrahedra, each cut into four hexahedra: badly shaped all over.
SetFactory("OpenCASCADE");
Box(1) = {0, 0, 0, 1.3, 1, 1};
Box(2) = {0.6, 0.4, 0, 0.5, 0.6, 0.5};
BooleanDifference(3) = { Volume{1}; Delete; }{ Volume{2}; Delete; };
Physical Volume("block") = {3};
Mesh.MeshSizeMin = 1;
Mesh.MeshSizeMax = 1;
Mesh.SubdivisionAlgorithm = 2;
Mesh.MshFileVersion = 2.2;
